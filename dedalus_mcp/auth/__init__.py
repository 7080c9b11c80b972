"""What clients and servers both need to prove and to check who asks; no I/O."""
