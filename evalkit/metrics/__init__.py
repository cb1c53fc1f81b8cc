"""One metric a file; `registry` lists them.

The list is a module of its own, so that importing one metric does not import all of them.
"""
