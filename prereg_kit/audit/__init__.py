"""Who knew what when: the sources of a repository read together, and what they contradict.

sources     what lies in the repository: frozen plans, logs, indexes of runs, decisions, git's history
times       when each thing happened, and how strong the evidence for it is
findings    the closed list of what an audit can say, each with what an innocent explanation must show
detectors/  one module per kind of evidence: values in, findings out
examine     all detectors over all studies of a repository
replay      the verdicts under the plan as frozen and under each amendment
"""
