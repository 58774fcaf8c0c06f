"""The paper's mathematics as small functions: when paired rollouts help a group-relative gradient, exactly.

numpy only, pure, no hidden randomness. The vocabulary, and the module that owns each word:

    advantages         rewards of a group -> advantages (the one place that states the training formula)
    designs            how the grader's flips of a group are coupled: independent, paired, blocks, balanced
    geometry           a group's scores and true successes -> the four numbers that matter (G, k, L, R)
    closed_forms       geometry x rule x design x q -> E||g||^2, ||E g||^2, Tr Var(g); O(k) after the Gram
    enumeration        the same by brute force over masks and action tuples: the oracle of the tests
    equation5          the paper's condition L < R, its gap and ratio, and its form for any advantage rule
    decomposition      pooled covariance = mask part + between-group part
    covariance_law     Tr Var(g | S) = tr(Kc Cov R) / G^2 for any reward noise
    coupling           the best exchangeable coupling, and what a fixed partition into blocks costs
    rates              spurious contrasts and lost contrasts
    luck, luck_null    the luck share: of grader flips, of a table of rewards, and its null bias
    diversity          how many schedules a batch sees
    bandit             the aligned scalar bandit of Section 4.3 and Appendix A.1
    alignment          where pairing helps and hurts over score alignment and success rate
    conditional_means  the sums to store so that every conditional mean follows without a new gradient
    transition         fresh-draw traces from a pool of rollouts under several schedules

Bad input raises `study.errors.TheoryError`, which says what was expected and what was found.
"""
