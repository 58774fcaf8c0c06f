"""The closed set of criteria, one module each: fields, words, exact evaluation, evaluation on arrays. Pure.

To add one: write its module, a subclass of `criterion.OneEndpoint`, and add its name to the union in `rule`.
"""
