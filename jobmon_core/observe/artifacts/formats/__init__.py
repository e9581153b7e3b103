"""Check whether files are whole, one module a format.

Content is untrusted: nothing is unpickled or executed, and each check reads a bounded number of bytes.
"""
