"""What functions of `konstrain._studio` return for small inputs."""

from konstrain._studio.asking import Implied, SessionState
from konstrain._studio.session import Link, Settings


def test_example_of_implied():
    links = [Link((0, 1), "together"), Link((1, 2), "together"), Link((2, 3), "apart")]
    implied = Implied(SessionState(Settings(2, ("a",)), {link.pair: link for link in links}))
    assert (implied.covers((0, 2)), implied.covers((0, 3)), implied.covers((0, 4))) == (True, True, False)
