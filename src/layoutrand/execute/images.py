"""Images of an experiment: made once, furnished for each execution, and proved to load the layout's own file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from layoutrand.cache import keys
from layoutrand.config.command import Places, fill_in
from layoutrand.config.config import Config
from layoutrand.config.image import Image
from layoutrand.errors import BuildError, HostError
from layoutrand.execute.workplace import Sandbox, Workplace
from layoutrand.jvm import home_image as images
from layoutrand.model import Binary, LayoutName
from layoutrand.platform.disk import sha256_file
from layoutrand.platform.loaded import loaded_files

_CHECK_TIMEOUT_S: Final = 600.0
_CHECKS: Final = 3
_KEPT_OUTPUT: Final = 2000


def image_of(config: Config, project: Path) -> str:
    """Digest of all that an image is but for the artefact in it, "" without one; reads the whole template.

    Raises `HostError` where the template cannot be read.
    """
    image = config.build.image
    if image is None:
        return ""
    digest = images.template_digest(project / image.template, image.exclude)
    return keys.image_key(digest, image.path, image.setup)


class Images:
    """The images of one call of `execute`."""

    def __init__(self, config: Config, project: Path, origins: Mapping[str, str], say: Callable[[str], None]) -> None:
        """``origins`` tells systems apart whose images differ: those of one origin share theirs."""
        self._image = config.build.image
        self._artefact = "" if self._image is None else self._image.artefact or config.build.artefacts[0]
        self._project, self._origins, self._say = project.resolve(), origins, say
        self._proved: set[tuple[str, LayoutName]] = set()

    def furnish(
        self,
        sandbox: Sandbox,
        system: str,
        artefacts: Mapping[str, Binary],
        workplace: Workplace,
        environment: Mapping[str, str],
    ) -> bool:
        """Put the image of these artefacts into the sandbox.

        True where its check was executed there, so that the sandbox is to be prepared anew.  Raises `BuildError` where
        the set-up fails, and `HostError` where another file is loaded than the layout's own.
        """
        if self._image is None:
            return False
        binary = artefacts[self._artefact]
        folder = self._folder(system)
        if not images.is_sealed(folder):
            self._make(self._image, folder, binary, sandbox, workplace, environment)
            return True
        images.check_seal(folder)
        workplace.furnish(folder, self._image.path, binary.stored)
        if (system, binary.layout) in self._proved:
            return False
        self._prove(self._image, binary, sandbox, environment)
        self._proved.add((system, binary.layout))
        return True

    def placed(self, sandbox: Sandbox, artefacts: Mapping[str, Binary]) -> dict[Path, Binary]:
        """The one file of an image that is a layout's, with the binary that it is; nothing without images."""
        return {} if self._image is None else {sandbox.home / self._image.path: artefacts[self._artefact]}

    def discard(self, system: str) -> None:
        """Have the system's image made anew before its next execution."""
        if self._image is not None:
            images.discard(self._folder(system))

    def _folder(self, system: str) -> Path:
        return self._project / ".layoutrand" / "images" / self._origins[system][:32]

    def _make(
        self,
        image: Image,
        folder: Path,
        binary: Binary,
        sandbox: Sandbox,
        workplace: Workplace,
        environment: Mapping[str, str],
    ) -> None:
        """Copy the template and execute the set-up in an image of this binary."""
        images.discard(folder)
        self._say(f"copying {image.template} for the images of system {binary.system}")
        images.copy_template(self._project / image.template, (*image.exclude, image.path), folder)
        if image.setup:
            workplace.furnish(folder, image.path, binary.stored)
            done = loaded_files(
                filled_in(image.setup, sandbox.home),
                environment,
                sandbox.cwd,
                Path(image.path).name,
                timeout_s=_CHECK_TIMEOUT_S,
            )
            if done.returncode != 0:
                images.discard(folder)
                ending = "did not end" if done.returncode is None else f"ended with status {done.returncode}"
                raise BuildError(
                    f"system {binary.system}: build.image.setup {ending} ({' '.join(image.setup)}):\n"
                    + done.output[-_KEPT_OUTPUT:]
                )
            new = images.adopt_new_files(sandbox.home, folder, leave_out=image.path)
            self._say(f"build.image.setup made {', '.join(new) or 'no file'}")
        images.seal(folder)

    def _prove(self, image: Image, binary: Binary, sandbox: Sandbox, environment: Mapping[str, str]) -> None:
        """The check has the image's own file in its memory and no other of the name."""
        own, words = sandbox.home / image.path, filled_in(image.check, sandbox.home)
        try:
            for _attempt in range(_CHECKS):  # on a busy machine a short one may end between two looks at it
                done = loaded_files(words, environment, sandbox.cwd, own.name, timeout_s=_CHECK_TIMEOUT_S)
                if done.files or done.returncode != 0:
                    break
        except OSError as error:
            raise HostError(f"build.image.check cannot be executed: {error.strerror} ({image.check[0]})") from error
        where = f"system {binary.system}, layout {binary.layout}: build.image.check ({' '.join(image.check)})"
        if done.returncode != 0:
            ending = "did not end" if done.returncode is None else f"ended with status {done.returncode}"
            raise HostError(f"{where} {ending}:\n{done.output[-_KEPT_OUTPUT:]}")
        if not done.files:
            raise HostError(
                f"{where} never had a file called {own.name} in its memory, so nothing proves that the layout is "
                "executed; give a command that loads it and does not end at once"
            )
        expected = (str(own), own.stat().st_ino)
        if done.files != {expected}:
            others = ", ".join(sorted(path for path, _ in done.files - {expected}))
            raise HostError(f"{where} loads {others}, not the layout's own {own}: its template leads elsewhere")
        if sha256_file(own) != binary.sha256:
            raise HostError(f"{where}: {own} is not the file that was built; `layoutrand build` mends it")


def filled_in(command: Sequence[str], home: Path) -> list[str]:
    """The words of a set-up or a check, for the image in ``home``; they have no other placeholder."""
    places = Places(artefact="", artefact_dir="", project="", home="", tmp="", prebuilt=str(home))
    return [fill_in(word, places) for word in command]
