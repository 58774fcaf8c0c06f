"""The first experiment that prereg_kit serves: when do paired rollouts help group-relative RL of LLM agents?

Pure rooms: `backoffice` (simulator), `theory`, `records`. Importing this package loads none of them.
"""
