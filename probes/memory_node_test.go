//go:build node

package probes_test

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
)

// TestMemoryIsWhereTheCompilerPutIt: the table for the catalogue's kubelet has the registers, stack slots and
// offsets of the kubelet that is built here, as the compiler wrote them for debuggers.
func TestMemoryIsWhereTheCompilerPutIt(t *testing.T) {
	bin := os.Getenv("PODSTEP_BIN")
	if bin == "" {
		t.Fatal("PODSTEP_BIN is not set: run these tests with make test-node")
	}
	d := openDebug(t, filepath.Join(bin, "podstep-kubelet"))
	table, err := memory.For(probes.KubernetesVersion)
	if err != nil {
		t.Fatal(err)
	}
	c, args, members := probes.MustLoad(), 0, 0
	table.All(func(step string, side memory.Side, name string, v memory.Value) {
		s := c.Step(step)
		if v.Form == nil {
			return
		}
		for _, h := range v.Form.Hops {
			if at, known := d.member(h.Type, h.Members); known {
				members++
				if !slices.Contains(at, int64(h.Offset)) {
					t.Errorf("%s %s %s: %s.%s is at %v, not %d", step, side, name, h.Type, h.Members, at, h.Offset)
				}
			}
		}
		if s == nil || side == memory.Exit || side == memory.Error || side == memory.Quiet || s.Pod.Exit || s.Closure != "" {
			return // for the entry, the compiler does not write where results are
		}
		arg, part, _ := strings.Cut(v.Form.From, ".")
		if got, known := d.args[s.Symbol][arg]; known {
			args++
			if !got.has(v.Form.AMD64, part == "") {
				t.Errorf("%s %s %s: %s is at %v, not %v", step, side, name, arg, got, v.Form.AMD64)
			}
		}
	})
	t.Logf("%d places of arguments and %d of members are as the compiler has them", args, members)
	if args < 300 || members < 300 {
		t.Errorf("only %d arguments and %d members were found", args, members)
	}
}

// location is where an argument is at its function's entry: in these registers, or
// at an offset from the end of the caller's frame.
type location struct {
	registers []string
	stack     bool
	offset    int64
}

// has reports whether the argument is at a place. If whole is not set, a part of it is enough.
func (l location) has(p memory.Place, whole bool) bool {
	if p.In == memory.Stack {
		return l.stack && (l.offset == int64(p.At) || !whole && l.offset <= int64(p.At))
	}
	i := slices.Index(l.registers, memory.Registers["amd64"][p.At])
	return i == 0 || i > 0 && !whole || i >= 0 && l.registers[0] == ""
}

// debug is what the compiler wrote for debuggers.
type debug struct {
	t     *testing.T
	lists []byte
	// args has the arguments of functions. structs has the members of structs, by the type's name with the last
	// part of its package's path.
	args    map[string]map[string]location
	structs map[string][]*dwarf.StructType
}

func openDebug(t *testing.T, file string) *debug {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	lists, err := f.Section(".debug_loclists").Data()
	if err != nil {
		t.Fatal(err)
	}
	d := &debug{t: t, lists: lists, args: map[string]map[string]location{}, structs: map[string][]*dwarf.StructType{}}
	symbols := map[string]bool{}
	for _, s := range probes.MustLoad().Steps {
		symbols[s.Symbol] = true
	}
	d.read(data, symbols)
	return d
}

// read reads the types, and the arguments of the functions of some symbols.
func (d *debug) read(data *dwarf.Data, symbols map[string]bool) {
	names := map[dwarf.Offset]string{} // of functions and arguments that are inlined elsewhere too
	name := func(e *dwarf.Entry) string {
		if n, ok := e.Val(dwarf.AttrName).(string); ok {
			names[e.Offset] = n
			return n
		}
		origin, _ := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		return names[origin]
	}
	function := ""
	for r := data.Reader(); ; {
		e, err := r.Next()
		if e == nil || errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			d.t.Fatal(err)
		}
		switch e.Tag {
		case dwarf.TagStructType:
			if n, ok := e.Val(dwarf.AttrName).(string); ok {
				if typ, err := data.Type(e.Offset); err == nil {
					if s, ok := typ.(*dwarf.StructType); ok {
						short := n[strings.LastIndexByte(n, '/')+1:]
						d.structs[short] = append(d.structs[short], s)
					}
				}
			}
			r.SkipChildren()
		case dwarf.TagSubprogram:
			if function = name(e); !symbols[function] {
				r.SkipChildren()
			}
		case dwarf.TagFormalParameter:
			list, ok := e.Val(dwarf.AttrLocation).(int64)
			if n := name(e); ok && symbols[function] && n != "" {
				if at, ok := d.first(list); ok {
					if d.args[function] == nil {
						d.args[function] = map[string]location{}
					}
					d.args[function][n] = at
				}
			}
		case dwarf.TagCompileUnit, 0:
		default:
			r.SkipChildren()
		}
	}
}

// first reads the first entry of a location list, which is for the function's entry.
func (d *debug) first(at int64) (l location, ok bool) {
	b := d.lists[at:]
	uleb := func() int64 {
		n, size := binary.Uvarint(b)
		b = b[size:]
		return int64(n)
	}
	for {
		kind := b[0]
		b = b[1:]
		switch kind {
		case 1: // base_addressx
			uleb()
		case 6: // base_address
			b = b[8:]
		case 4: // offset_pair
			start := uleb()
			uleb()
			n := uleb()
			if start != 0 {
				return l, false
			}
			return expression(b[:n])
		default:
			return l, false
		}
	}
}

// expression reads a location: registers, in pieces or not, or a place in the
// caller's frame.
func expression(b []byte) (l location, ok bool) {
	names := map[byte]string{0: "RAX", 2: "RCX", 3: "RBX", 4: "RSI", 5: "RDI", 8: "R8", 9: "R9", 10: "R10", 11: "R11"}
	for len(b) > 0 {
		op := b[0]
		b = b[1:]
		switch {
		case op >= 0x50 && op < 0x70: // reg
			l.registers = append(l.registers, names[op-0x50])
		case op == 0x93: // piece
			_, n := binary.Uvarint(b)
			b = b[n:]
		case op == 0x9c && !l.stack && len(l.registers) == 0: // call_frame_cfa
			l.stack = true
		case op == 0x91 && len(l.registers) == 0: // fbreg
			n, size := sleb(b)
			b = b[size:]
			if !l.stack { // further pieces follow it
				l.stack, l.offset = true, n
			}
		default:
			return l, false
		}
	}
	return l, l.stack || len(l.registers) > 0
}

func sleb(b []byte) (n int64, size int) {
	for shift := 0; ; shift += 7 {
		c := b[size]
		size++
		n |= int64(c&0x7f) << shift
		if c < 0x80 {
			if c&0x40 != 0 {
				n |= -1 << (shift + 7)
			}
			return n, size
		}
	}
}

// member returns the offsets that a member has in the structs of a name, which may be several. known is false if
// none of them has it.
func (d *debug) member(typ, path string) (at []int64, known bool) {
	path, length := strings.CutSuffix(path, "."+memory.Len)
	for _, s := range d.structs[typ] {
		n, ok := offset(s, strings.Split(path, "."))
		if length {
			n += 8 // behind the pointer
		}
		if ok {
			at = append(at, n)
		}
	}
	return at, len(at) > 0
}

func offset(s *dwarf.StructType, path []string) (int64, bool) {
	for _, f := range s.Field {
		if f.Name != path[0] {
			continue
		}
		if len(path) == 1 {
			return f.ByteOffset, true
		}
		typ := f.Type
		for {
			def, ok := typ.(*dwarf.TypedefType)
			if !ok {
				break
			}
			typ = def.Type
		}
		if inner, ok := typ.(*dwarf.StructType); ok {
			n, ok := offset(inner, path[1:])
			return f.ByteOffset + n, ok
		}
	}
	return 0, false
}
