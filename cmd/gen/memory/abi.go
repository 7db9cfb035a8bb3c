package memory

import (
	"go/types"

	"github.com/podstep/podstep/probes/memory"
)

// arch is the part of an architecture that the passing of arguments depends on.
type arch struct {
	name       string
	ints, flts int // registers
}

var amd64, arm64 = arch{"amd64", 9, 15}, arch{"arm64", 16, 16}

// word is the size of a pointer, on both.
const word = 8

// place is where an argument or result is: in registers, one for each of its words, or on the stack.
type place struct {
	// regs has the integer register of each word-sized part of the value, by the part's offset
	// in the value. For floats it has -1.
	regs map[int64]int
	// stack is the offset of a value that is not in registers.
	stack int64
	// result says that the value is there when the function returns.
	result bool
}

// places assigns places to arguments, the receiver first, and to results, as Go's ABIInternal
// does: cmd/compile/abi-internal.md.
func (a arch) places(sizes types.Sizes, params, results *types.Tuple) (in, out []place) {
	stack := int64(0)
	in, stack = a.assign(sizes, params, stack)
	out, _ = a.assign(sizes, results, align(stack, word))
	for i := range out {
		out[i].result = true
	}
	return in, out
}

func (a arch) assign(sizes types.Sizes, tuple *types.Tuple, stack int64) (out []place, end int64) {
	r := registers{arch: a, sizes: sizes}
	for i := range tuple.Len() {
		t := tuple.At(i).Type()
		ints, flts := r.ints, r.flts
		p := place{regs: map[int64]int{}}
		if sizes.Sizeof(t) == 0 || !r.assign(t, 0, p.regs) {
			r.ints, r.flts = ints, flts
			stack = align(stack, sizes.Alignof(t))
			p = place{stack: stack}
			stack += sizes.Sizeof(t)
		}
		out = append(out, p)
	}
	return out, stack
}

// frame returns how many bytes arguments and results take in the caller's frame: those that are on the stack, and room
// for the arguments that are in registers.
func (a arch) frame(sizes types.Sizes, params, results *types.Tuple) (size int64) {
	in, out := a.places(sizes, params, results)
	onStack := func(tuple *types.Tuple, places []place) {
		for i, p := range places {
			if p.regs == nil {
				size = max(size, p.stack+sizes.Sizeof(tuple.At(i).Type()))
			}
		}
		size = align(size, word)
	}
	onStack(params, in)
	onStack(results, out)
	for i, p := range in {
		if t := params.At(i).Type(); p.regs != nil {
			size = align(size, sizes.Alignof(t)) + sizes.Sizeof(t)
		}
	}
	return align(size, word)
}

func align(n, to int64) int64 { return (n + to - 1) / to * to }

// registers counts the registers that are used so far.
type registers struct {
	arch
	sizes      types.Sizes
	ints, flts int
}

// assign gives a value of a type its registers, if there are enough.
func (r *registers) assign(t types.Type, at int64, into map[int64]int) bool {
	words := func(n int64) bool {
		for i := range n {
			if r.ints++; r.ints > r.arch.ints {
				return false
			}
			into[at+i*word] = r.ints - 1
		}
		return true
	}
	floats := func(n, size int64) bool {
		for i := range n {
			into[at+i*size] = -1
		}
		r.flts += int(n)
		return r.flts <= r.arch.flts
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Kind() == types.String:
			return words(2)
		case u.Info()&types.IsComplex != 0:
			return floats(2, r.sizes.Sizeof(u)/2)
		case u.Info()&types.IsFloat != 0:
			return floats(1, 0)
		}
		return words(1)
	case *types.Interface:
		return words(2)
	case *types.Slice:
		return words(3)
	case *types.Struct:
		offsets := r.sizes.Offsetsof(fieldsOf(u))
		for i := range u.NumFields() {
			if !r.assign(u.Field(i).Type(), at+offsets[i], into) {
				return false
			}
		}
		return true
	case *types.Array:
		return u.Len() == 0 || u.Len() == 1 && r.assign(u.Elem(), at, into)
	}
	return words(1)
}

func fieldsOf(s *types.Struct) []*types.Var {
	out := make([]*types.Var, s.NumFields())
	for i := range out {
		out[i] = s.Field(i)
	}
	return out
}

// part returns the place of the value's part at an offset. ok is false if the part is in a
// floating-point register.
func (p place) part(offset int64) (memory.Place, bool) {
	if p.regs == nil {
		return memory.Place{In: memory.Stack, At: int(p.stack + offset)}, true
	}
	r, ok := p.regs[offset]
	in := memory.Register
	if p.result {
		in = memory.Result
	}
	return memory.Place{In: in, At: r}, ok && r >= 0
}
