"""Tells whether all that bears an option's name is of something else, so that no line can read the option."""

from __future__ import annotations

import ast
import re
from functools import cached_property

from assay.source import Declarations, Mention, Modules, Option, Sites

_SPREAD = re.compile(rb"(\w+)\(\s*\*\*\s*(?:[\w.]*\b(?:vars|asdict)\(|[\w.]*__dict__)")
"""A call that gets all of an object's attributes as arguments; the group is the last part of its name."""
_FILLED = re.compile(r"setattr\(\s*self\s*,|self\.__dict__")
"""A class that gives its objects attributes by names that are not written there."""
_HARMLESS = frozenset(
    {"attribute-store", "name-load", "name-store", "keyword", "definition", "field", "import"}
)
"""Occurrences that read no attribute: they bind a name, use a variable, or set an option."""


class Namesakes:
    """Looks at every occurrence of an option's names in a package, whatever the deployment.

    Names are found as they are spelt; one that is put together from parts is not. Each occurrence must be
    shown to be harmless: what cannot be told counts as a reader.
    """

    def __init__(self, modules: Modules, package: str, declarations: Declarations, record: str) -> None:
        """`record` is the name of the arguments class."""
        self._modules = modules
        self._folder = modules.root / package
        self._declarations = declarations
        self._record = record
        self._sites = Sites(modules, package)

    def only(self, option: Option) -> bool:
        """Whether nothing in the package can read the option by a name."""
        names = {option.dest, *([option.field] if option.field else [])}
        if any(self._is_read_in(site.text, name) for site in option.mentions for name in names):
            return False  # most options, for which nothing need be parsed
        if self._sites.unsearched or self._declarations.unsearched or self._is_named_elsewhere(option, names):
            return False
        return not any(self._sites.unread(name) for name in names) and all(
            self._is_harmless(mention, option) for name in names for mention in self._sites.mentions(name)
        )

    # ------------------------------------------------------------ as bytes

    def _is_read_in(self, text: str, name: str) -> bool:
        """Whether a line plainly reads an attribute of that name of something but `self`."""
        owners = re.findall(rf"([\w)\]]+)\.{re.escape(name)}\b(?!\s*=[^=])", text)
        return any(owner not in ("self", self._record) for owner in owners)

    def _is_named_elsewhere(self, option: Option, names: set[str]) -> bool:
        """Whether a flag stands outside its declaration, or a name in a file that is no Python."""
        flags = {flag.lstrip("-") for flag in option.flags} | {name.replace("_", "-") for name in names}
        if any(_word(name).search(self._other_files) for name in names):
            return True
        for flag in (flag for flag in flags if "-" in flag):
            if _word(flag).search(self._other_files):
                return True
            for hit in self._sites.matching(re.compile(re.escape(flag.encode()))):
                line = hit.text.count(b"\n", 0, hit.at) + 1
                if _word(flag).match(hit.text, hit.at) and not self._is_own(hit.module, line, option.dest):
                    return True
        return False

    @cached_property
    def _other_files(self) -> bytes:
        """What the files hold that are no Python, as one text."""
        paths = (path for path in self._folder.rglob("*") if path.suffix not in (".py", ".pyc"))
        return b"\n".join(path.read_bytes() for path in paths if path.is_file() and not path.is_symlink())

    def _is_own(self, module: str, line: int, dest: str) -> bool:
        """Whether a line belongs to what declares an option of that destination."""
        return any(
            each.dest == dest
            and each.declared_at.file == f"{module.replace('.', '/')}.py"
            and each.first_line <= line <= each.last_line
            for each in self._declarations.options
        )

    @cached_property
    def _spread_over(self) -> frozenset[str]:
        """Names of functions and classes that get the attributes of some object as arguments."""
        return frozenset(hit.groups[0].decode() for hit in self._sites.matching(_SPREAD))

    # ------------------------------------------------------------ as code

    def _is_harmless(self, mention: Mention, option: Option) -> bool:
        node = mention.node
        if mention.kind in _HARMLESS:
            return True
        if mention.kind == "attribute-load" and isinstance(node, ast.Attribute):
            return self.is_of_another(mention, node)
        if mention.kind == "text" and isinstance(node, ast.Constant):
            is_sentence = isinstance(node.value, str) and " " in node.value.strip()
            return is_sentence and not isinstance(self._sites.parent(mention.module, node), ast.Attribute)
        if mention.kind == "parameter":
            around = {getattr(mention.scope.function, "name", ""), getattr(mention.scope.cls, "name", "")}
            return not around & self._spread_over
        line = getattr(node, "lineno", 0)
        return mention.kind == "string" and self._is_own(mention.module.name, line, option.dest)

    def is_of_another(self, mention: Mention, node: ast.Attribute) -> bool:
        """Whether an attribute is the declared default, or one that an object of another class has given
        itself.
        """
        owner = node.value
        if not isinstance(owner, ast.Name):
            return False
        if owner.id == self._record:
            return True
        cls = mention.scope.cls
        if owner.id != "self" or cls is None or cls.name in self._family:
            return False
        return self._is_given(node.attr) and not _FILLED.search("\n".join(mention.module.lines))

    @cached_property
    def _family(self) -> frozenset[str]:
        """The arguments class, the classes that it derives from, and those that derive from it."""
        found = {self._record}
        for each in self._sites.classes(self._record):
            found.update(sub.node.name for sub in self._sites.subclasses(each.module, each.node))
            found.update(base.id for base in each.node.bases if isinstance(base, ast.Name))
            found.update(base.attr for base in each.node.bases if isinstance(base, ast.Attribute))
        return frozenset(found)

    def _is_given(self, name: str) -> bool:
        """Whether some class other than the arguments class gives its objects an attribute of that name."""
        return any(
            mention.kind in ("attribute-store", "field")
            and mention.scope.cls is not None
            and mention.scope.cls.name not in self._family
            for mention in self._sites.mentions(name)
        )


def _word(word: str) -> re.Pattern[bytes]:
    """Finds it where it does not stand within a longer word; begins with it, which makes the search fast."""
    text = re.escape(word.encode())
    return re.compile(text + rb"(?<!\w" + text + rb")(?<!\w-" + text + rb")(?![\w-])")
