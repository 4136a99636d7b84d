"""XML of other programs as a tree, whatever is wrong with it: what came before the damage stays."""

from xml.etree.ElementTree import Element, ParseError, TreeBuilder

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from heatsoak.importer.source import Source

#: What an element takes in memory besides its text.
_ELEMENT_BYTES = 300
#: No result is nested deeper.
_MAX_DEPTH = 16


class XmlError(ValueError):
    """Text that is not the XML of a result.

    Attributes:
        line: where, if that is known.
        is_cut: whether what came before may be taken.
    """

    def __init__(self, text: str, line: int | None = None, *, is_cut: bool = False) -> None:
        super().__init__(text)
        self.line, self.is_cut = line, is_cut


class XmlReader:
    """Builds a tree from pieces of a document.

    Attributes:
        root: the outermost element with all that was read; None before it starts.
        open: elements whose ends have not come yet.
    """

    def __init__(self, source: Source) -> None:
        """Start a document in `source`, whose budget of memory its elements count against."""
        self.root: Element | None = None
        self.open: list[Element] = []
        self._source = source
        self._builder = TreeBuilder()
        self._parser = DefusedXMLParser(target=self, forbid_dtd=False)

    def feed(self, data: str | bytes, *, ends: bool = False) -> None:
        """Take a piece, the last one if it `ends` the document.

        Raises XmlError for what is not valid, and UsageError where the file has too many elements.
        """
        try:
            self._parser.feed(data)
            if ends:
                self._parser.close()
        except ParseError as error:
            line = error.position[0] if getattr(error, "position", None) else None
            raise XmlError(f"is not valid XML: {error.msg}", line, is_cut=True) from error
        except DefusedXmlException as error:
            raise XmlError("declares entities, which no result does") from error
        except XmlError:
            raise
        except (ValueError, LookupError) as error:
            raise XmlError("is not valid XML: its encoding cannot be read") from error

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Start an element; called by the parser, as the others below."""
        self._source.keep(_ELEMENT_BYTES)
        element = self._builder.start(tag, attributes)
        if self.root is None:
            self.root = element
        self.open.append(element)
        if len(self.open) > _MAX_DEPTH:
            raise XmlError("is nested deeper than any result")

    def data(self, text: str) -> None:
        """Take text of the innermost element."""
        self._builder.data(text)

    def end(self, tag: str) -> None:
        """End the innermost element."""
        self._builder.end(tag)
        self.open.pop()

    @property
    def roots(self) -> list[Element]:
        """The outermost element, if there is one."""
        return [] if self.root is None else [self.root]

    def close(self) -> None:
        """End the document."""
