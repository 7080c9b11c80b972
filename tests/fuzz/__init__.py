"""Hostile input: what may be thrown at the package, and how it is thrown.

targets/     what is thrown at: a function of bytes each, which raises when the invariant is broken
corpus/      inputs that are worth it: written by hand, and all that ever found a fault
test_*.py    each input of the corpus, and a few hundred near them, in `make test`
__main__     as many as there is time for: `make fuzz`
"""
