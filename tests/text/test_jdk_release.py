"""What a JDK says of itself."""

from layoutrand.text.jdk_release import jdk_identity, jdk_words


def test_version_build_and_vendor_are_told():
    debian = 'IMPLEMENTOR="Debian"\nJAVA_RUNTIME_VERSION="17.0.15+6-Debian"\nMODULES="java.base java.xml"\nOS_ARCH="x86_64"\n'
    assert jdk_words(jdk_identity(debian)) == "JDK 17.0.15+6-Debian of Debian"
    assert "MODULES" not in jdk_identity(debian)
    assert jdk_words(jdk_identity('JAVA_VERSION="1.8.0_302"\r\nOS_NAME="Linux"\r\n')) == "JDK 1.8.0_302"


def test_what_says_no_version_is_not_named():
    assert jdk_words(jdk_identity("")) == ""
    assert jdk_words(jdk_identity("IMPLEMENTOR=x\n")) == ""
