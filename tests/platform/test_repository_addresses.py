"""Credentials in addresses of repositories are never shown."""

from __future__ import annotations

import pytest

from layoutrand.platform.repository_addresses import without_credentials


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:token@host/x.git", "https://host/x.git"),
        ("https://token@host/x", "https://host/x"),
        ("https://token:@host/x", "https://host/x"),
        ("https://u@e:p@ss@host:8443/x", "https://host:8443/x"),
        ("HTTP://u:p@[::1]/x", "HTTP://[::1]/x"),
        ("ssh://git@host/x", "ssh://git@host/x"),
        ("ssh://git:secret@host/x", "ssh://git@host/x"),
        ("fatal: unable to access 'https://u:p@h/': no", "fatal: unable to access 'https://h/': no"),
        ("from https://a:b@c/d; nor from https://e:f@g/h", "from https://c/d; nor from https://g/h"),
        ("git@host:x", "git@host:x"),
        ("/a/path@here", "/a/path@here"),
        ("https://host/@scope/x", "https://host/@scope/x"),
        ("mail me@host about https://host/x", "mail me@host about https://host/x"),
    ],
)
def test_addresses_are_shown_without_credentials(text, shown):
    """Neither a password, nor a user that may be a token, whatever stands around the address."""
    assert without_credentials(text) == shown
    assert without_credentials(shown) == shown
