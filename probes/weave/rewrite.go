package weave

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// File is a source file: its name as stack traces shall show it, and its text.
type File struct {
	Name string
	Text []byte
}

// Woven is a package after weaving.
type Woven struct {
	// Files are the changed files, by the name of the original.
	Files map[string][]byte
	// Glue is the file to be added to the package.
	Glue []byte
	// Lines says on which line of which file a step was woven in.
	Lines map[Place]*probes.Step
	// Misfits are what was left out.
	Misfits []hook.Misfit
}

// Place is a line of a file.
type Place struct {
	File string
	Line int
}

// Target is a package that is to be woven.
type Target struct {
	// Path is the import path.
	Path string
	// Hash is what the woven package reports of itself, see probes.Catalogue.PackageHash.
	Hash string
	// Version is the version of Kubernetes that the package is of. Empty: the catalogue's own. What does not fit another
	// version is left out.
	Version string
	Steps   []*probes.Step
	// Misfits are what is known not to fit.
	Misfits []hook.Misfit
}

// Package weaves steps into the files of a package. A step whose function is not there is an error that names the step,
// or in another version a misfit.
func Package(t Target, files []File) (*Woven, error) {
	src := &source{fset: token.NewFileSet(), files: files}
	if err := src.parse(wanted(t.Steps)); err != nil {
		return nil, err
	}
	edits := map[int][]edit{}
	fails, sums := map[*probes.Step]bool{}, map[*probes.Step]string{}
	w := &Woven{Files: map[string][]byte{}, Lines: map[Place]*probes.Step{}, Misfits: slices.Clone(t.Misfits)}
	var woven []*probes.Step
	for _, step := range t.fitting() {
		fn, err := src.find(step)
		if err != nil && t.Version != "" {
			w.Misfits = append(w.Misfits, hook.Misfit{Step: step.Name, Part: probes.PartFunction, Why: err.Error()})
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("weave step %q into %s: %w", step.Name, t.Path, err)
		}
		es, errName := fn.edits(src, step)
		edits[fn.file] = append(edits[fn.file], es...)
		fails[step], sums[step] = errName != "", src.sum(fn)
		w.Lines[Place{files[fn.file].Name, src.line(fn.body.Lbrace)}] = step
		woven = append(woven, step)
	}
	for i, es := range edits {
		text := apply(files[i].Text, es)
		w.Files[files[i].Name] = append([]byte("//line "+files[i].Name+":1:1\n"), text...)
	}
	w.Glue = glue(src.name, t.record(woven, fails, sums, w.Misfits))
	return w, nil
}

// wanted is the set of function names that steps are in.
func wanted(steps []*probes.Step) map[string]bool {
	names := map[string]bool{}
	for _, s := range steps {
		if f, err := probes.ParseSymbol(s.Symbol); err == nil {
			names[f.Name] = true
		}
	}
	return names
}

// source is a package's files, parsed as far as needed.
type source struct {
	fset  *token.FileSet
	files []File
	asts  []*ast.File
	name  string
}

func (s *source) parse(names map[string]bool) error {
	s.asts = make([]*ast.File, len(s.files))
	for i, f := range s.files {
		if s.name != "" && !mentions(f.Text, names) {
			continue
		}
		a, err := parser.ParseFile(s.fset, f.Name, f.Text, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse %s: %w", f.Name, err)
		}
		s.asts[i], s.name = a, a.Name.Name
	}
	return nil
}

func mentions(text []byte, names map[string]bool) bool {
	for n := range names {
		if bytes.Contains(text, []byte(n)) {
			return true
		}
	}
	return false
}

// line is a position's line as it is in the file, whatever directives say.
func (s *source) line(p token.Pos) int { return s.fset.PositionFor(p, false).Line }

func (s *source) offset(p token.Pos) int { return s.fset.PositionFor(p, false).Offset }

// function is a function declaration or literal to be woven.
type function struct {
	file int
	typ  *ast.FuncType
	body *ast.BlockStmt
}

// sum identifies the function's code, without what is woven in.
func (s *source) sum(f function) string {
	return probes.FunctionSum(s.files[f.file].Text[s.offset(f.typ.Pos()):s.offset(f.body.End())])
}

func (s *source) find(step *probes.Step) (function, error) {
	for i, a := range s.asts {
		if a == nil {
			continue
		}
		switch decl, lit, err := Find(a, step); {
		case err != nil:
			return function{}, err
		case lit != nil:
			return function{i, lit.Type, lit.Body}, nil
		case decl != nil:
			return function{i, decl.Type, decl.Body}, nil
		}
	}
	return function{}, fmt.Errorf("this kubelet has no function %s", step.Symbol)
}

func matches(fd *ast.FuncDecl, want probes.Func) bool {
	if fd.Name.Name != want.Name || (fd.Recv != nil) != (want.Receiver != "") {
		return false
	}
	if fd.Recv == nil {
		return true
	}
	t := fd.Recv.List[0].Type
	star, pointer := t.(*ast.StarExpr)
	if pointer {
		t = star.X
	}
	switch x := t.(type) { // a generic receiver: T[P]
	case *ast.IndexExpr:
		t = x.X
	case *ast.IndexListExpr:
		t = x.X
	}
	id, ok := t.(*ast.Ident)
	return ok && id.Name == want.Receiver && pointer == want.Pointer
}

// literal finds the one function literal that is assigned to the variable of
// that name, or called where it stands with the result assigned, or returned.
func literal(body *ast.BlockStmt, name string) (*ast.FuncLit, error) {
	var found []*ast.FuncLit
	take := func(e ast.Expr) {
		if call, ok := e.(*ast.CallExpr); ok {
			e = call.Fun
		}
		if lit, ok := e.(*ast.FuncLit); ok {
			found = append(found, lit)
		}
	}
	pair := func(lhs []ast.Expr, rhs []ast.Expr) {
		for i, l := range lhs {
			if id, ok := l.(*ast.Ident); ok && id.Name == name && i < len(rhs) {
				take(rhs[i])
			}
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			pair(n.Lhs, n.Rhs)
		case *ast.ValueSpec:
			for i, id := range n.Names {
				if id.Name == name && i < len(n.Values) {
					take(n.Values[i])
				}
			}
		case *ast.ReturnStmt:
			if name == "return" {
				for _, e := range n.Results {
					if lit, ok := e.(*ast.FuncLit); ok {
						found = append(found, lit)
					}
				}
			}
		}
		return true
	})
	what := "assigned to " + name
	if name == "return" {
		what = "returned"
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d function literals are %s, want 1", len(found), what)
	}
	return found[0], nil
}

// edit replaces text[at:end].
type edit struct {
	at, end int
	text    string
}

// apply makes the edits; none overlap.
func apply(text []byte, edits []edit) []byte {
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].at < edits[j].at })
	var out []byte
	last := 0
	for _, e := range edits {
		out = append(out, text[last:e.at]...)
		out = append(out, e.text...)
		last = e.end
	}
	return append(out, text[last:]...)
}

// edits are what weaving step into f takes: names for its results, and the
// hook at its top. errName is the name of the error that f returns, if it does.
func (f function) edits(src *source, step *probes.Step) (es []edit, errName string) {
	results, edits := f.nameResults(src)
	at := src.offset(f.body.Lbrace) + 1
	if n := len(results); n > 0 && results[n-1].isError {
		errName = results[n-1].name
	}
	return append(edits, edit{at, at, prologue(step, errName)}), errName
}

type result struct {
	name    string
	isError bool
}

// nameResults names the results that have no name, by their position, so that
// they can be seen when the function is left, and set when it is to fail.
func (f function) nameResults(src *source) (results []result, edits []edit) {
	if f.typ.Results == nil {
		return nil, nil
	}
	insert := func(p token.Pos, text string) { edits = append(edits, edit{src.offset(p), src.offset(p), text}) }
	for _, field := range f.typ.Results.List {
		id, _ := field.Type.(*ast.Ident)
		isError := id != nil && id.Name == "error"
		if len(field.Names) == 0 {
			name := "podstepR" + strconv.Itoa(len(results))
			insert(field.Type.Pos(), name+" ")
			results = append(results, result{name, isError})
		}
		for _, n := range field.Names {
			name := n.Name
			if name == "_" {
				name = "podstepR" + strconv.Itoa(len(results))
				edits = append(edits, edit{src.offset(n.Pos()), src.offset(n.End()), name})
			}
			results = append(results, result{name, isError})
		}
	}
	if !f.typ.Results.Opening.IsValid() { // one result, without brackets
		edits[0].text = "(" + edits[0].text
		insert(f.typ.Results.List[0].Type.End(), ")")
	}
	return results, edits
}

// prologue is what is woven into the top of a function.
func prologue(step *probes.Step, errName string) string {
	var enter, exit []string
	pods := []string{step.Pod.Expr}
	if step.Pod.Kind == probes.PodUpdates {
		pods = pods[:0]
		for _, u := range step.Pod.Updates {
			pods = append(pods, u.Expr)
		}
	}
	switch {
	case step.Pod.Kind == probes.PodInherit || step.Pod.Kind == probes.PodNone:
	case step.Pod.Exit:
		exit = append(exit, pods...)
	default:
		enter = append(enter, pods...)
	}
	for _, f := range step.Fields {
		enter = append(enter, f.Expr)
	}
	for _, f := range step.Results {
		exit = append(exit, f.Expr)
	}
	if step.SyncNow != "" {
		enter = append(enter, step.SyncNow)
	}
	fail, errValue := "", "nil"
	if errName != "" {
		errValue = "func() error { return " + errName + " }"
		fail = fmt.Sprintf(" if podstepE != nil { %s = podstepE; return };", errName)
	}
	skip := ""
	if step.Skip {
		skip = fmt.Sprintf(" if podstepSkip(%d) { return };", step.ID)
	}
	return fmt.Sprintf(" if podstepOn(%d) { if podstepP, podstepE := podstepEnter(%d, %s); podstepP != nil || podstepE != nil { defer podstepLeave(podstepP, %s, %s);%s }; };%s",
		step.ID, step.ID, values("", enter, step.EndBackOff), errValue, values(step.Quiet, exit, ""), fail, skip)
}

// values is the closure that puts values. At exit it first puts whether the
// call is not worth an event, if the step can be so. At entry it last puts what
// ends the back-off that the function would find.
func values(quiet string, exprs []string, endBackOff string) string {
	if quiet == "" && len(exprs) == 0 && endBackOff == "" {
		return "nil"
	}
	var b strings.Builder
	b.WriteString("func(podstepV podstepTo) {")
	if quiet != "" {
		b.WriteString(" if podstepQuiet(podstepV, " + quiet + ") { return };")
	}
	for _, e := range exprs {
		b.WriteString(" podstepPut(podstepV, " + e + ");")
	}
	if endBackOff != "" {
		b.WriteString(" podstepBackOff(podstepV, " + endBackOff + ");")
	}
	return b.String() + " }"
}

// glue is the file that ties a woven package to the hook.
func glue(pkg, record string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `// Code generated by podstep-weave. DO NOT EDIT.

package %s

import "unsafe"

//go:linkname podstepSwitches %[2]s.Switches
var podstepSwitches [%[3]d]uint32

//go:norace
func podstepOn(step int) bool { return podstepSwitches[step]&1 != 0 }

//go:norace
func podstepSkip(step int) bool { return podstepSwitches[step]&2 != 0 }

type podstepTo = unsafe.Pointer

//go:linkname podstepEnter %[2]s.Enter
//go:noescape
func podstepEnter(step int, values func(podstepTo)) (unsafe.Pointer, error)

//go:linkname podstepLeave %[2]s.Leave
//go:noescape
func podstepLeave(span unsafe.Pointer, fail func() error, values func(podstepTo))

//go:linkname podstepQuiet %[2]s.Quiet
//go:noescape
func podstepQuiet(to podstepTo, quiet bool) (enough bool)

//go:linkname podstepTake %[2]s.put
//go:noescape
func podstepTake(to podstepTo, v interface{})

//go:linkname podstepBackOff %[2]s.backOff
//go:noescape
func podstepBackOff(to podstepTo, end func() (ended bool, length int64))

// podstepNowhere is nil. The compiler does not know that, and so has what v
// points at leak. The box of v stays on the stack: podstepTake keeps none.
var podstepNowhere unsafe.Pointer

func podstepPut[T interface{}](to podstepTo, v T) {
	if podstepNowhere != nil {
		*(*T)(podstepNowhere) = v
	}
	podstepTake(to, v)
}

//go:linkname podstepRegister %[2]s.RegisterPackage
func podstepRegister(record string)

func init() { podstepRegister(%[4]q) }
`, pkg, HookPackage, MaxSteps, record)
	return b.Bytes()
}
