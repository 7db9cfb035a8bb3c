package memory

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes/memory"
)

// TestPlaces: arguments are where the compiler puts them. Without optimisation, a function
// begins by storing each register of an argument into the argument's own slot. Its symbol says
// how large arguments and results are.
func TestPlaces(t *testing.T) {
	pkg := checkABI(t)
	for _, a := range []arch{amd64, arm64} {
		compiled := compile(t, a.name)
		if len(compiled) != 8 {
			t.Fatalf("%s: %d functions were compiled", a.name, len(compiled))
		}
		for name, got := range compiled {
			sig := signature(t, pkg, name)
			want, size := expect(a, sig)
			if !maps.EqualFunc(got.registers, want, slices.Equal) {
				t.Errorf("%s %s: the compiler has %v, want %v", a.name, name, got.registers, want)
			}
			if got.args != size {
				t.Errorf("%s %s: arguments and results take %d bytes, want %d", a.name, name, got.args, size)
			}
		}
	}
}

func checkABI(t *testing.T) *types.Package {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "testdata/abi/abi.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := (&types.Config{Importer: importer.ForCompiler(fset, "source", nil)}).Check("abi", fset, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}

// signature returns a signature with the receiver as the first parameter, as load makes it.
func signature(t *testing.T, pkg *types.Package, name string) *types.Signature {
	t.Helper()
	obj := pkg.Scope().Lookup(name)
	if obj == nil {
		typ := pkg.Scope().Lookup("T").Type()
		obj, _, _ = types.LookupFieldOrMethod(types.NewPointer(typ), true, pkg, name)
	}
	sig := obj.(*types.Func).Signature()
	if sig.Recv() == nil {
		return sig
	}
	params := []*types.Var{sig.Recv()}
	for v := range sig.Params().Variables() {
		params = append(params, v)
	}
	return types.NewSignatureType(nil, nil, nil, types.NewTuple(params...), sig.Results(), sig.Variadic())
}

// expect returns what places says of a signature: the registers of each parameter, in the order
// of its parts. It also returns the size of the frame of arguments, in bytes.
func expect(a arch, sig *types.Signature) (registers map[string][]string, size int64) {
	sizes := types.SizesFor("gc", a.name)
	in, _ := a.places(sizes, sig.Params(), sig.Results())
	registers = map[string][]string{}
	flts := 0
	for i, p := range in {
		v := sig.Params().At(i)
		for _, at := range slices.Sorted(maps.Keys(p.regs)) {
			if r := p.regs[at]; r >= 0 {
				registers[v.Name()] = append(registers[v.Name()], memory.Registers[a.name][r])
			} else {
				registers[v.Name()] = append(registers[v.Name()], fmt.Sprint("float", flts))
				flts++
			}
		}
	}
	return registers, a.frame(sizes, sig.Params(), sig.Results())
}

// compiled is what the compiler made from a function.
type compiled struct {
	registers map[string][]string
	args      int64
}

var (
	begins = regexp.MustCompile(`^\S*testdata/abi\.(?:T\.|\(\*T\)\.)?(\w+) STEXT .*\bargs=0x([0-9a-f]+)`)
	spill  = regexp.MustCompile(`\tF?MOV\w*\t([A-Z]+[0-9A-Z]*), \S*testdata/abi\.(\w+)(\+\d+)?\((?:FP|SP)\)`)
)

func compile(t *testing.T, goarch string) map[string]*compiled {
	t.Helper()
	cmd := exec.Command("go", "build", "-gcflags=-N -l -S", "./testdata/abi")
	cmd.Env = append(os.Environ(), "GOARCH="+goarch, "GOOS=linux", "CGO_ENABLED=0")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("compile for %s: %v\n%s", goarch, err, text)
	}
	type part struct {
		register string
		at       int
	}
	out := map[string]*compiled{}
	parts := map[string]map[string][]part{}
	name := ""
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, " STEXT ") {
			name = ""
		}
		if m := begins.FindStringSubmatch(line); m != nil && !strings.Contains(line, "dupok") {
			n, err := strconv.ParseInt(m[2], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			name = m[1]
			out[name] = &compiled{map[string][]string{}, n}
			parts[name] = map[string][]part{}
		}
		m := spill.FindStringSubmatch(line)
		if name == "" || m == nil || registerName(goarch, m[1]) == "" {
			continue
		}
		at, err := strconv.Atoi(cmp.Or(strings.TrimPrefix(m[3], "+"), "0"))
		if err != nil {
			t.Fatal(err)
		}
		parts[name][m[2]] = append(parts[name][m[2]], part{registerName(goarch, m[1]), at})
	}
	for name, c := range out {
		for param, ps := range parts[name] {
			slices.SortFunc(ps, func(a, b part) int { return cmp.Compare(a.at, b.at) })
			for _, p := range ps {
				c.registers[param] = append(c.registers[param], p.register)
			}
		}
	}
	return out
}

var subRegisters = map[string]string{
	"AX": "RAX", "BX": "RBX", "CX": "RCX", "DI": "RDI", "SI": "RSI",
	"AL": "RAX", "BL": "RBX", "CL": "RCX", "DIB": "RDI", "SIB": "RSI",
}

// registerName converts the assembler's name of a register to the name in memory.Registers, or
// to the number of a register for floats. It is empty for a register that has no arguments.
func registerName(goarch, asm string) string {
	if r, ok := subRegisters[asm]; ok && goarch == "amd64" {
		return r
	}
	n := strings.TrimRight(asm, "B")
	kind, number := n[:1], n[1:]
	i, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return ""
	case goarch == "amd64" && kind == "X" && i < amd64.flts, goarch == "arm64" && kind == "F":
		return fmt.Sprint("float", i)
	case goarch == "amd64" && kind == "R":
		return n
	case goarch == "arm64" && kind == "R" && i < arm64.ints:
		return fmt.Sprint("X", i)
	}
	return ""
}
