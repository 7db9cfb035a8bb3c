package probes

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/podstep/podstep/probes/pclntab"
)

// Binary is what the symbols of a kubelet's program show of it. They are read from .gopclntab, which the Go runtime
// needs for its own stack traces and which therefore survives stripping.
type Binary struct {
	// KubernetesVersion is like v1.36.3, or empty if the program does not state it.
	KubernetesVersion string
	GoVersion         string
	// Arch is the machine it runs on, in Go's words.
	Arch string
	// Stripped: it has no symbol table; names and lines are there all the same.
	Stripped bool
	// Functions are the program's functions, and Text is their code.
	Functions *pclntab.Table
	Text      pclntab.Section

	literals []literal
}

// literal is a function literal, by its name.
type literal struct {
	function int    // its number in the table of functions
	outer    []byte // the name of the function that has it
}

// kubeletPrefix is what every kubelet's functions begin with.
const kubeletPrefix = "k8s.io/kubernetes/pkg/kubelet."

// ReadBinary reads the kubelet at path.
func ReadBinary(path string) (*Binary, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read kubelet: %w", err)
	}
	b, err := ParseBinary(data)
	if err != nil {
		return nil, fmt.Errorf("read kubelet %s: %w", path, err)
	}
	return b, nil
}

// ParseBinary reads a kubelet from the bytes of its file. It keeps data.
func ParseBinary(data []byte) (*Binary, error) {
	r := bytes.NewReader(data)
	file, err := elf.NewFile(r)
	if err != nil {
		return nil, notELF(err)
	}
	build, err := buildinfo.Read(r)
	if err != nil {
		return nil, errors.New("not a Go program: it has no build information of the go command")
	}
	b := &Binary{GoVersion: build.GoVersion, Arch: setting(build, "GOARCH"), Stripped: file.Section(".symtab") == nil}
	if b.Functions, b.Text, err = pclntab.Open(file, data); err != nil {
		return nil, err
	}
	kubelet := false
	for i, name := range b.Functions.Names() {
		kubelet = kubelet || bytes.HasPrefix(name, []byte(kubeletPrefix))
		if outer, ok := outerOf(name); ok {
			b.literals = append(b.literals, literal{i, outer})
		}
	}
	if !kubelet {
		return nil, fmt.Errorf("a Go program (%s), but not a kubelet: no function of k8s.io/kubernetes/pkg/kubelet is in it", build.Path)
	}
	b.KubernetesVersion = kubernetesVersion(build, file)
	return b, nil
}

func notELF(err error) error {
	var format *elf.FormatError
	if errors.As(err, &format) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not an ELF program")
	}
	return err
}

// Has reports whether a step can be found in the binary, and if not, why.
func (b *Binary) Has(s *Step) (ok bool, why string) {
	if s.Outside() {
		return false, "it is not a function of the kubelet; " + s.Seen.description()
	}
	if s.Closure != "" {
		return b.hasClosure(s)
	}
	if b.has(s.Symbol) {
		return true, ""
	}
	if b.Functions.Mentions(s.Symbol) {
		return false, "the compiler inlined the function into its callers"
	}
	return false, b.without("no such function")
}

// hasClosure looks for a function literal in the step's function. The compiler
// numbers literals, and puts the names of functions it was inlined into first:
//
//	pkg.Outer.func1    pkg.Caller.Outer.func1    pkg.Caller.func2.Outer.3
//
// A name does not show which of several literals is meant. The file shows at least that it is
// not a namesake in another package.
func (b *Binary) hasClosure(s *Step) (ok bool, why string) {
	if len(b.Literals(s)) > 0 {
		return true, ""
	}
	if b.Functions.Mentions(s.Symbol + ".func1") {
		return false, "the compiler inlined the function literal"
	}
	if b.has(s.Symbol) || b.Functions.Mentions(s.Symbol) {
		return false, b.without("the function is there, but has no function literal")
	}
	return false, b.without("no such function")
}

// outerOf returns the name of the function that has a literal. The literal's name ends with .func1, .1 or the like,
// or with several numbers if it is in another literal.
func outerOf(name []byte) (outer []byte, ok bool) {
	for end := len(name); ; end = len(outer) {
		digits := end
		for digits > 0 && '0' <= name[digits-1] && name[digits-1] <= '9' {
			digits--
		}
		switch before := name[:digits]; {
		case digits == end:
			return outer, ok
		case bytes.HasSuffix(before, []byte(".func")):
			return before[:digits-len(".func")], true
		case !bytes.HasSuffix(before, []byte(".")):
			return outer, ok
		default:
			outer, ok = before[:digits-1], true
		}
	}
}

// Outer returns the name of the function that has the named literal. For a function that is no literal it returns
// the function's own name.
func Outer(function string) string {
	if outer, ok := outerOf([]byte(function)); ok {
		return string(outer)
	}
	return function
}

// Code is a function of a binary. Its code is at the addresses [Entry, End) of the file. Line is where its source
// begins.
type Code struct {
	Name       string
	Entry, End uint64
	Line       int
}

// Code finds a function by its linker symbol.
func (b *Binary) Code(symbol string) (f Code, ok bool) {
	fn, ok := b.Functions.ByName(symbol)
	if !ok {
		return f, false
	}
	return codeOf(fn), true
}

func (b *Binary) has(symbol string) bool {
	_, ok := b.Functions.ByName(symbol)
	return ok
}

func codeOf(fn *pclntab.Func) Code {
	return Code{Name: fn.Name, Entry: fn.Entry, End: fn.End, Line: fn.Line()}
}

// Literals returns the function literals in the step's function, also where the compiler has put this function into
// others.
func (b *Binary) Literals(s *Step) (all []Code) {
	outer := []byte("." + withoutPackage(s.Symbol))
	for _, l := range b.literals {
		if !bytes.HasSuffix(l.outer, outer) {
			continue
		}
		if f, ok := b.Functions.Function(l.function); ok && strings.HasSuffix(f.File(), "/"+s.File) {
			all = append(all, codeOf(f))
		}
	}
	return all
}

// Within returns the function literals in a function, also those in other literals.
func (b *Binary) Within(symbol string) (all []Code) {
	for _, l := range b.literals {
		if string(l.outer) != symbol {
			continue
		}
		if f, ok := b.Functions.Function(l.function); ok {
			all = append(all, codeOf(f))
		}
	}
	return all
}

// Line returns the file and line at which the step's function began when it was compiled.
func (b *Binary) Line(s *Step) (file string, line int, ok bool) {
	f, ok := b.Functions.ByName(s.Symbol)
	if !ok {
		return "", 0, false
	}
	return f.File(), f.Line(), f.File() != ""
}

func (b *Binary) without(what string) string {
	if b.KubernetesVersion == "" {
		return what + " in this kubelet"
	}
	return what + " in kubelet " + b.KubernetesVersion
}

// withoutPackage returns the symbol without its import path, such as (*Kubelet).SyncPod.
func withoutPackage(symbol string) string {
	slash := strings.LastIndexByte(symbol, '/')
	// Type arguments have slashes too; only those before the bracket count.
	if bracket := strings.IndexByte(symbol, '['); bracket >= 0 && slash > bracket {
		slash = strings.LastIndexByte(symbol[:bracket], '/')
	}
	_, name, _ := strings.Cut(symbol[slash+1:], ".")
	return name
}
