"""Random programs of arithmetic, comparisons, conversions, moves, reductions, branches and loops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hypothesis import strategies as st

from tirx_mini.frontends.tile_ir.cuda_tile import Dense, Tile, ops, tile
from tirx_mini.frontends.tile_ir.ssa import Builder, Module, Region, Value, make

SHAPES = ((), (4,), (1, 8), (4, 8), (2, 1, 4))
FLOAT_TYPES = ("f16", "f32")
INT_TYPES = ("i8", "i32", "i64")
FLOAT_OPS = (ops.addf, ops.subf, ops.mulf, ops.maxf, ops.minf)
INT_OPS = (ops.addi, ops.subi, ops.muli, ops.andi, ops.ori, ops.xori)
SIGNED_OPS = (ops.maxi, ops.mini)
PREDICATES = ("equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal")


class _Writer:
    """Emits operations that hypothesis chooses. values: what may be used, of any type."""

    def __init__(self, draw, builder: Builder, values: Sequence[Value]) -> None:
        self.draw, self.b, self.values = draw, builder, list(values)

    def pick(self, type_: Tile | None = None) -> Value:
        """One of the values so far, of `type_` if it is given; or a new constant of that type."""
        fitting = [v for v in self.values if type_ is None or v.type == type_]
        if fitting and (type_ is None or self.draw(st.booleans())):
            return self.draw(st.sampled_from(fitting))
        return self.constant(type_ or self.type())

    def type(self) -> Tile:
        return tile(self.draw(st.sampled_from(FLOAT_TYPES + INT_TYPES)), *self.draw(st.sampled_from(SHAPES)))

    def constant(self, type_: Tile) -> Value:
        number = self.draw(st.integers(-9, 9))
        values = number if self.draw(st.booleans()) else [number + i for i in range(type_.size)]
        dense = Dense.of(str(type_.element), values)
        if dense.values.ndim:
            dense = Dense(dense.element, dense.values.reshape(type_.shape))
        return self.b.emit(ops.constant, types=[type_], value=dense)

    def step(self, depth: int) -> None:
        """One more value."""
        kinds = [
            self.arithmetic,
            self.quotient,
            self.comparison,
            self.conversion,
            self.move,
            self.reduction,
            self.chosen,
        ]
        if depth:
            kinds += [self.branch, self.loop]
        made = self.draw(st.sampled_from(kinds))(depth)
        self.values += [made] if isinstance(made, Value) else made

    def arithmetic(self, depth: int) -> Value:
        x = self.pick()
        element = str(x.type.element)
        y = self.pick(x.type)
        if element in FLOAT_TYPES:
            return self.b.emit(self.draw(st.sampled_from(FLOAT_OPS)), x, y)
        if element == "i1":
            return self.b.emit(self.draw(st.sampled_from((ops.andi, ops.ori, ops.xori))), x, y)
        if self.draw(st.booleans()):
            signedness = self.draw(st.sampled_from(("signed", "unsigned")))
            return self.b.emit(self.draw(st.sampled_from(SIGNED_OPS)), x, y, signedness=signedness)
        return self.b.emit(self.draw(st.sampled_from(INT_OPS)), x, y)

    def quotient(self, depth: int) -> Value:
        """By a positive constant, which no unsigned reading makes huge."""
        x = self.pick()
        element = str(x.type.element)
        if element not in INT_TYPES:
            return x
        divisor = self.b.emit(ops.constant, types=[x.type], value=Dense.of(element, self.draw(st.integers(1, 9))))
        signedness = self.draw(st.sampled_from(("signed", "unsigned")))
        kind = self.draw(st.sampled_from((ops.divi, ops.remi, ops.shri)))
        if kind is not ops.divi:
            return self.b.emit(kind, x, divisor if kind is ops.remi else self.shift(x), signedness=signedness)
        roundings = ("zero", "positive_inf", "negative_inf")[: 3 if signedness == "signed" else 2]
        return self.b.emit(kind, x, divisor, signedness=signedness, rounding=self.draw(st.sampled_from(roundings)))

    def shift(self, x: Value) -> Value:
        value = Dense.of(str(x.type.element), self.draw(st.integers(0, 7)))
        return self.b.emit(ops.constant, types=[x.type], value=value)

    def comparison(self, depth: int) -> Value:
        x = self.pick(self.type())
        y = self.pick(x.type)
        predicate = self.draw(st.sampled_from(PREDICATES))
        if str(x.type.element) in FLOAT_TYPES:
            ordering = self.draw(st.sampled_from(("ordered", "unordered")))
            return self.b.emit(ops.cmpf, x, y, comparison_predicate=predicate, comparison_ordering=ordering)
        signedness = self.draw(st.sampled_from(("signed", "unsigned")))
        return self.b.emit(ops.cmpi, x, y, comparison_predicate=predicate, signedness=signedness)

    def condition(self, shape: Sequence[int]) -> Value:
        return self.pick(tile("i1", *shape))

    def chosen(self, depth: int) -> Value:
        x = self.pick()
        return self.b.emit(ops.select, self.condition(x.type.shape), x, self.pick(x.type))

    def conversion(self, depth: int) -> Value:
        x = self.pick(self.type())
        before, after = str(x.type.element), self.draw(st.sampled_from(FLOAT_TYPES + INT_TYPES))
        types = [x.type.of(after)]
        if before == after:
            return x
        if before in FLOAT_TYPES and after in FLOAT_TYPES:
            return self.b.emit(ops.ftof, x, types=types)
        signedness = self.draw(st.sampled_from(("signed", "unsigned")))
        if before in FLOAT_TYPES:
            return self.b.emit(ops.ftoi, x, types=types, signedness=signedness)
        if after in FLOAT_TYPES:
            return self.b.emit(ops.itof, x, types=types, signedness=signedness)
        if types[0].element.bits < x.type.element.bits:
            return self.b.emit(ops.trunci, x, types=types)
        return self.b.emit(ops.exti, x, types=types, signedness=signedness)

    def move(self, depth: int) -> Value:
        x = self.pick()
        shape = x.type.shape
        ways = (
            ["reshape"]
            + ["permute"] * (len(shape) > 1)
            + ["broadcast"] * (1 in shape)
            + ["cat"] * (0 < prod(shape) <= 32 and bool(shape))
        )
        way = self.draw(st.sampled_from(ways))
        if way == "permute":
            return self.b.emit(ops.permute, x, permutation=tuple(self.draw(st.permutations(range(len(shape))))))
        if way == "broadcast":
            return self.b.emit(ops.broadcast, x, types=[x.type.shaped([4 if n == 1 else n for n in shape])])
        if way == "cat":
            dim = self.draw(st.integers(0, len(shape) - 1))
            wide = [n * (1 + (d == dim)) for d, n in enumerate(shape)]
            return self.b.emit(ops.cat, x, self.pick(x.type), types=[x.type.shaped(wide)], dim=dim)
        options = [
            s for s in (*SHAPES, (1,), (1, 1), (8,), (32,), (8, 4), (16, 2), (2, 2, 8)) if prod(s) == prod(shape)
        ]
        return self.b.emit(ops.reshape, x, types=[x.type.shaped(self.draw(st.sampled_from(options or [shape])))])

    def reduction(self, depth: int) -> Value:
        x = self.pick()
        element = str(x.type.element)
        if not x.type.rank or element == "i1":
            return x
        dim = self.draw(st.integers(0, x.type.rank - 1))
        kind = ops.maxf if element in FLOAT_TYPES else self.draw(st.sampled_from((ops.addi, ops.xori, ops.maxi)))
        attrs = {"signedness": "signed"} if kind is ops.maxi else {}
        scalar = tile(element)

        def body(b: Builder, element: Value, before: Value) -> None:
            b.emit(ops.yield_, [b.emit(kind, element, before, **attrs)])

        regions = [self.b.body([scalar, scalar], body)]
        identities = (Dense.of(element, 0),)
        if self.draw(st.booleans()):
            shape = x.type.shape[:dim] + x.type.shape[dim + 1 :]
            types = [x.type.shaped(shape)]
            return self.b.emit(ops.reduce, [x], types=types, regions=regions, dim=dim, identities=identities)
        reverse = self.draw(st.booleans())
        return self.b.emit(
            ops.scan, [x], types=[x.type], regions=regions, dim=dim, identities=identities, reverse=reverse
        )

    def inside(self, count: int, depth: int, params: Sequence[Value], end) -> Region:
        """A region of `count` steps, ended by `end(writer)`."""
        inner = _Writer(self.draw, Builder(), [*self.values, *params])
        for _ in range(count):
            inner.step(depth - 1)
        end(inner)
        return Region(tuple(params), tuple(inner.b.ops))

    def branch(self, depth: int) -> list[Value]:
        condition = self.condition(())
        types = [self.type() for _ in range(self.draw(st.integers(0, 2)))]

        def end(inner: _Writer) -> None:
            inner.b.emit(ops.yield_, [inner.pick(t) for t in types])

        regions = [self.inside(self.draw(st.integers(0, 3)), depth, (), end) for _ in range(2)]
        self.b.add(made := make(ops.if_, (condition,), regions=regions, types=types))
        return list(made.results)

    def loop(self, depth: int) -> list[Value]:
        """A `for` that may go on early, or a `loop` with a count that may break early."""
        inits = [self.pick(self.type()) for _ in range(self.draw(st.integers(1, 2)))]
        types = [v.type for v in inits]
        early = self.draw(st.booleans())
        endless = self.draw(st.booleans())

        def number(writer: _Writer, n: int) -> Value:
            return writer.b.emit(ops.constant, types=[tile("i32")], value=Dense.of("i32", n))

        def leave(inner: _Writer, kind, values: list[Value], when: Value) -> None:
            then = Region((), (make(kind, (tuple(values),)),))
            inner.b.add(make(ops.if_, (when,), regions=(then, Region((), (make(ops.yield_),))), types=()))

        def end(inner: _Writer) -> None:
            values = [inner.pick(t) for t in types]
            if early:
                kind = ops.break_ if endless else ops.continue_
                leave(inner, kind, [inner.pick(t) for t in types], inner.condition(()))
            if not endless:
                inner.b.emit(ops.continue_, values)
                return
            last = inner.b.emit(ops.cmpi, count, number(inner, 3), comparison_predicate="equal", signedness="signed")
            leave(inner, ops.break_, [inner.pick(t) for t in types], last)
            inner.b.emit(ops.continue_, [inner.b.emit(ops.addi, count, number(inner, 1)), *values])

        count = Value(tile("i32"))
        params = [count, *(Value(t) for t in types)]
        region = self.inside(self.draw(st.integers(0, 3)), depth, params, end)
        if endless:
            self.b.add(made := make(ops.loop, ((number(self, 0), *inits),), regions=(region,), types=types))
        else:
            bounds = [number(self, n) for n in (self.draw(st.integers(-2, 2)), self.draw(st.integers(-2, 5)), 1)]
            self.b.add(made := make(ops.for_, (*bounds, tuple(inits)), regions=(region,), types=types))
        return list(made.results)


@st.composite
def modules(draw, steps: int = 8, depth: int = 2) -> Module:
    """A module with a kernel @k(%n: tile<i32>) that prints its values."""
    n = Value(tile("i32"), "n")
    writer = _Writer(draw, Builder(), [n])
    block = writer.b.emit(ops.get_tile_block_id)
    writer.values.append(block[0])
    writer.values.append(writer.b.emit(ops.iota, types=[tile("i32", 4)]))
    for _ in range(draw(st.integers(1, steps))):
        writer.step(depth)
    for value in writer.values[-6:]:
        floats = str(value.type.element) in FLOAT_TYPES
        writer.b.emit(ops.print_tko, [value], str="%g\n" if floats else "%d\n")
    writer.b.emit(ops.return_)
    entry = make(ops.entry, attrs={"sym_name": "k"}, regions=(Region((n,), tuple(writer.b.ops)),))
    return Module("m", (entry,))


def run(interpret, module: Module, n: int) -> list[str]:
    """What a kernel of `modules` prints on a grid of two blocks."""
    printed: list[str] = []
    interpret(module, "k", [n], (2,), printed.append)
    return printed
