"""Load and soak: many clients at once, hostile ones beside good ones, and a million calls that leave nothing behind.

python -m tests.soak [NAME ...]          the long forms, which print figures; the tests here are the short ones
"""
