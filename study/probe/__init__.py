"""The exact gradient probe: does pairing shrink the covariance of a real policy's update?

    spec         what one probe consists of, as a value with a digest
    double       a float64 model whose forward pass stays float64
    scores       the score of one rollout over the trained coordinates, with its guards
    checks       other roads to the same gradients: loop, hooks, finite differences, the trainer's loss
    played       what the policy played, as arrays
    stream       gradients of one unit at a time -> Gram matrix and weighted sums, in float64
    vectors      which weighted sums are kept
    units        pieces on disk: a probe that was killed goes on at the next unit
    passes       the pass over all units: scores in, evidence out
    measure      a checkpoint -> evidence
    evidence     the compact file from which every figure recomputes without torch
    estimators   MC and SW: advantages, weights, divisors
    intervals    resampled tasks
    outcome      grader flips: evidence -> both sides of Eq. 5, traces, decomposition
    transition   tool faults: evidence -> paired, resampled, stratified and fresh traces
    alignment    how far scores point where rewards do, measured on groups
    register     evidence -> rows of `prereg.probe/1` and `prereg.luck/1`

Figures need numpy alone; torch is met in `double`, `scores`, `checks` and what they serve.
"""
