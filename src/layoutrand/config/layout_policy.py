"""``[layout]``: what is randomised, within which bounds, and what layouts of one seed have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from layoutrand.config.jdk import JIT_STRESS, factors_of_a_jdk
from layoutrand.layout.factors import BLOCK_ORDER
from layoutrand.model import Layout, LayoutName, Section, Storage
from layoutrand.text.strict_table import STRICT

Factor = Literal[
    "function-order",
    "module-order",
    "function-order-in-module",
    "block-order",
    "data-order",
    "padding",
    "text-offset",
    "link-order",
    "linker-shuffle",
    "cds-order",
    "heap-base",
    "jit-stress",
]
Classes = Literal["keep", "mix"]
Archives = Literal["built", "all"]
Couple = Literal["order", "address"]
Engine = Literal["auto", "link", "permute"]
Ordered = Literal["move", "keep"]
_ALONE = {
    "link-order": "leaves the order to the linker",
    "linker-shuffle": "leaves the order to the linker",
    JIT_STRESS: "changes the generated code, not only where it lies",
}


class LayoutPolicy(BaseModel):
    """``[layout]``: what is randomised, and within which bounds."""

    model_config = STRICT

    factors: Annotated[list[Factor], Field(min_length=1)] = ["function-order"]
    classes: Classes = "keep"
    padding_bytes: Annotated[int, Field(ge=1, le=1 << 20)] = 64
    archives: Archives = "built"
    couple: Couple = "order"
    engine: Engine = "auto"
    storage: Storage = "whole"
    held: list[Factor] = []

    @field_validator("factors")
    @classmethod
    def _compatible(cls, factors: list[Factor]) -> list[Factor]:
        if len(set(factors)) != len(factors):
            raise ValueError("a factor is listed twice")
        if "function-order" in factors and {"module-order", "function-order-in-module"} & set(factors):
            raise ValueError("function-order already orders all functions, so it cannot go with another order factor")
        for alone, why in _ALONE.items():
            if alone in factors and len(factors) > 1:
                raise ValueError(f"{alone} {why}, so it cannot go with another factor")
        if (of_a_jdk := factors_of_a_jdk(factors)) and len(of_a_jdk) < len(factors):
            raise ValueError(f"{of_a_jdk[0]} is of a JDK that is taken as it is, so no factor of a link goes with it")
        return factors

    @model_validator(mode="after")
    def _holds_what_there_is(self) -> Self:
        for factor in self.held:
            if factor not in self.factors:
                raise ValueError(f"held: {factor} is not among the factors, so there is nothing to hold")
        if self.factors and not self.drawn:
            raise ValueError("held: of all factors nothing would be drawn; leave one of them out")
        return self

    @model_validator(mode="after")
    def _addresses_are_ours(self) -> Self:
        if not self.by_address:
            return self
        for factor in self.factors:
            if factor in _ALONE or factors_of_a_jdk([factor]):
                raise ValueError(
                    f'{factor} leaves addresses to others than layoutrand, so it cannot go with couple = "address"'
                )
            if factor == "text-offset":
                raise ValueError(f'{factor} moves all code, whose addresses are agreed on with couple = "address"')
            if factor == BLOCK_ORDER:
                raise ValueError(f'{factor} takes functions apart, which have one address with couple = "address"')
        return self

    def facts(self) -> dict[str, Any]:
        """What decides a layout, as JSON values: a setting of a factor only where that factor is at work."""
        facts: dict[str, Any] = {"factors": sorted(self.factors), "classes": self.classes}
        facts |= {"padding_bytes": self.padding_bytes} if "padding" in self.drawn else {}
        facts |= {"held": sorted(set(self.held))} if self.held else {}
        return facts | ({"couple": self.couple} if self.by_address else {})

    @property
    def drawn(self) -> tuple[str, ...]:
        """The factors that a seed draws: all but those ``held``, which are as in identity's layout."""
        return tuple(factor for factor in self.factors if factor not in self.held)

    @property
    def in_blocks(self) -> bool:
        """Whether a function is several sections, one for each basic block."""
        return BLOCK_ORDER in self.factors

    def draw(self, sections: Sequence[Section], identity: Sequence[int], name: LayoutName) -> Layout:
        """The layout called ``name`` of the sections, whose identity order is ``identity``."""
        from layoutrand.layout.order import draw  # every command reads the configuration, and few draw layouts

        return draw(
            sections,
            identity,
            name=name,
            factors=self.drawn,
            classes=self.classes,
            padding=self.padding_bytes,
            whole=self.in_blocks,
        )

    def each_alone(self) -> dict[str, LayoutPolicy]:
        """Factor -> the policy that draws it alone, of the same capture; none where there are not two."""
        alone = {
            factor: self.model_copy(update={"held": [other for other in self.factors if other != factor]})
            for factor in self.drawn
        }
        return alone if len(alone) > 1 else {}

    @property
    def by_address(self) -> bool:
        """Whether what systems share lies at the same addresses in all of them."""
        return self.couple == "address"

    def captured(self) -> tuple[str, ...]:
        """The factors that a capture must serve: where addresses are to be the same, data has to be placed, too."""
        return (*self.factors, *(["data-order"] if self.by_address and "data-order" not in self.factors else []))
