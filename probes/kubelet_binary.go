package probes

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// Binary is a kubelet on disk, as far as its symbols tell about it. They are
// read from .gopclntab, which the Go runtime needs for its own stack traces and
// which therefore survives stripping.
type Binary struct {
	Path string
	// KubernetesVersion is like v1.36.3, or empty if the binary does not tell.
	KubernetesVersion string
	GoVersion         string
	// Arch is the machine it runs on, in Go's words.
	Arch string
	// Stripped: it has no symbol table; names and lines are there all the same.
	Stripped bool

	table *gosym.Table
	funcs map[string]*gosym.Func
	// names is the raw table. Functions of which no copy is left because they
	// were inlined everywhere are still named in it.
	names []byte
}

// kubeletPrefix is what every kubelet's functions begin with.
const kubeletPrefix = "k8s.io/kubernetes/pkg/kubelet."

// ReadBinary reads the kubelet at path.
func ReadBinary(path string) (*Binary, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read kubelet: %w", err)
	}
	defer f.Close()
	b, err := readBinary(f)
	if err != nil {
		return nil, fmt.Errorf("read kubelet %s: %w", path, err)
	}
	b.Path = path
	return b, nil
}

func readBinary(r io.ReaderAt) (*Binary, error) {
	file, err := elf.NewFile(r)
	if err != nil {
		return nil, notELF(err)
	}
	defer file.Close()
	build, err := buildinfo.Read(r)
	if err != nil {
		return nil, errors.New("not a Go program: it has no build information of the go command")
	}
	names, text, err := lineTable(file)
	if err != nil {
		return nil, err
	}
	table, err := symbols(names, text)
	if err != nil {
		return nil, err
	}
	b := &Binary{
		GoVersion: build.GoVersion,
		Arch:      setting(build, "GOARCH"),
		Stripped:  file.Section(".symtab") == nil,
		table:     table,
		funcs:     make(map[string]*gosym.Func, len(table.Funcs)),
		names:     names,
	}
	kubelet := false
	for i := range table.Funcs {
		fn := &table.Funcs[i]
		b.funcs[fn.Name] = fn
		kubelet = kubelet || strings.HasPrefix(fn.Name, kubeletPrefix)
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

// lineTable finds .gopclntab and where the text begins. A position-independent
// program keeps the table among the relocated data, under a longer name.
func lineTable(file *elf.File) (table []byte, text uint64, err error) {
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		section := file.Section(name)
		if section == nil {
			continue
		}
		table, err = section.Data()
		if err != nil {
			return nil, 0, fmt.Errorf("read section %s: %w", name, err)
		}
		break
	}
	if table == nil {
		return nil, 0, errors.New("it has no table of Go functions (.gopclntab): was it stripped of more than symbols?")
	}
	section := file.Section(".text")
	if section == nil {
		return nil, 0, errors.New("it has no .text section")
	}
	return table, section.Addr, nil
}

func symbols(names []byte, text uint64) (table *gosym.Table, err error) {
	// debug/gosym trusts the table's offsets. A damaged file is an error of
	// the file, not a crash of ours.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("its table of Go functions is damaged: %v", r)
		}
	}()
	table, err = gosym.NewTable(nil, gosym.NewLineTable(names, text))
	if err != nil {
		return nil, fmt.Errorf("its table of Go functions cannot be read: %w", err)
	}
	if len(table.Funcs) == 0 {
		return nil, errors.New("its table of Go functions is empty, damaged, or of a Go version that is not known here")
	}
	return table, nil
}

// Has reports whether a step can be found in the binary, and if not, why.
func (b *Binary) Has(s *Step) (ok bool, why string) {
	if s.Outside() {
		return false, "it is no function of the kubelet; " + s.Seen.description()
	}
	if s.Closure != "" {
		return b.hasClosure(s)
	}
	if b.funcs[s.Symbol] != nil {
		return true, ""
	}
	if b.named(s.Symbol) {
		return false, "the compiler inlined the function into its callers"
	}
	return false, b.without("no such function")
}

// hasClosure looks for a function literal in the step's function. The compiler
// numbers literals, and puts the names of functions it was inlined into first:
//
//	pkg.Outer.func1    pkg.Caller.Outer.func1    pkg.Caller.func2.Outer.3
//
// Which of several is meant cannot be told from names. The file tells at least
// that it is not a namesake in another package.
func (b *Binary) hasClosure(s *Step) (ok bool, why string) {
	outer := withoutPackage(s.Symbol)
	literal := regexp.MustCompile(`(^|\.)` + regexp.QuoteMeta(outer) + `(\.func|\.)\d+(\.\d+)*$`)
	for name, fn := range b.funcs {
		if strings.Contains(name, outer) && literal.MatchString(withoutPackage(name)) && b.in(fn, s.File) {
			return true, ""
		}
	}
	if b.named(s.Symbol + ".func1") {
		return false, "the compiler inlined the function literal"
	}
	if b.funcs[s.Symbol] != nil || b.named(s.Symbol) {
		return false, b.without("the function is there, but has no function literal")
	}
	return false, b.without("no such function")
}

func (b *Binary) in(fn *gosym.Func, file string) bool {
	path, _, _ := b.table.PCToLine(fn.Entry)
	return strings.HasSuffix(path, "/"+file)
}

// Line is where the step's function begins, as it was when it was compiled.
func (b *Binary) Line(s *Step) (file string, line int, ok bool) {
	fn := b.funcs[s.Symbol]
	if fn == nil {
		return "", 0, false
	}
	file, line, _ = b.table.PCToLine(fn.Entry)
	return file, line, file != ""
}

// named reports whether the name is in the table at all; names end with a NUL.
func (b *Binary) named(symbol string) bool {
	return bytes.Contains(b.names, []byte("\x00"+symbol+"\x00"))
}

func (b *Binary) without(what string) string {
	if b.KubernetesVersion == "" {
		return what + " in this kubelet"
	}
	return what + " in kubelet " + b.KubernetesVersion
}

// withoutPackage is the symbol after its import path: (*Kubelet).SyncPod.
func withoutPackage(symbol string) string {
	slash := strings.LastIndexByte(symbol, '/')
	// Type arguments have slashes too; what is before the bracket counts.
	if bracket := strings.IndexByte(symbol, '['); bracket >= 0 && slash > bracket {
		slash = strings.LastIndexByte(symbol[:bracket], '/')
	}
	_, name, _ := strings.Cut(symbol[slash+1:], ".")
	return name
}

func setting(build *buildinfo.BuildInfo, key string) string {
	for _, s := range build.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

var (
	release   = regexp.MustCompile(`^v1\.\d+\.\d+`)
	stamp     = regexp.MustCompile(`version\.gitVersion=(v1\.\d+\.\d+[^\s"']*)`)
	inlineNUL = regexp.MustCompile(`\x00(v1\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+[.\w-]*)?(?:\+[\w.-]+)?)\x00`)
)

// kubernetesVersion asks those who know, the surest first: the stamp that
// kubelet --version prints, the module, and what the linker left of the stamp
// in a build whose flags were not recorded (-trimpath, as releases are built).
func kubernetesVersion(build *buildinfo.BuildInfo, file *elf.File) string {
	if m := stamp.FindStringSubmatch(setting(build, "-ldflags")); m != nil {
		return m[1]
	}
	for _, dep := range build.Deps {
		if dep.Path != "k8s.io/kubernetes" {
			continue
		}
		if dep.Replace != nil && release.MatchString(dep.Replace.Version) {
			return dep.Replace.Version
		}
		if release.MatchString(dep.Version) {
			return dep.Version
		}
	}
	if v := stampedVersion(file); v != "" {
		return v
	}
	if build.Main.Path == "k8s.io/kubernetes" && release.MatchString(build.Main.Version) {
		return build.Main.Version
	}
	return ""
}

// stampedVersion looks for the string that -X version.gitVersion= leaves: the
// linker ends such a string with a NUL, which Go's own strings lack. It is
// believed only if all that look so are the same.
func stampedVersion(file *elf.File) string {
	section := file.Section(".rodata")
	if section == nil {
		return ""
	}
	data, err := section.Data()
	if err != nil {
		return ""
	}
	found := ""
	for _, m := range inlineNUL.FindAllSubmatch(data, -1) {
		v := string(m[1])
		if found != "" && found != v {
			return ""
		}
		found = v
	}
	return found
}
