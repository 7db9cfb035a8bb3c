// Package logged finds the lines of the kubelet's log in the kubelet's source, and checks the catalogue's by them.
package logged

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/podstep/podstep/cmd/gen/kubelet"
	"github.com/podstep/podstep/probes"
)

// Dirs are the parts of k8s.io/kubernetes in which lines of the catalogue are written.
var Dirs = []string{"pkg/kubelet", "pkg/volume/util/operationexecutor", "pkg/volume/util/nestedpendingoperations", "pkg/util/goroutinemap"}

// Call is a call that writes to the log.
type Call struct {
	// Message is its message, or for a message that is put together, the first text in it.
	Message string
	// V is the verbosity from which on it is written. Errors are written at each.
	V    int
	Keys []string
	// More: the logger was given values before, which are not among Keys.
	More bool
	At   string // file:line, the file relative to the module
}

// Source returns the directory of k8s.io/kubernetes as a module requires it.
func Source(module string) (string, error) {
	all, err := kubelet.List[struct{ Dir string }](module, "-m", "-json", "k8s.io/kubernetes")
	if err != nil {
		return "", err
	}
	return all[0].Dir, nil
}

// Find returns the calls in a directory of k8s.io/kubernetes. client-go's recorder of events logs them, too.
func Find(dir string) (all []Call, err error) {
	for _, d := range Dirs {
		err := filepath.WalkDir(filepath.Join(dir, d), func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_windows.go") {
				return nil
			}
			found, err := inFile(dir, path)
			all = append(all, found...)
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			return nil, fmt.Errorf("read the kubelet's source: %w", err)
		}
	}
	return all, nil
}

func inFile(dir, path string) (all []Call, err error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Rel(dir, path)
	if err != nil {
		return nil, err
	}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if c, ok := read(call); ok {
			c.At = name + ":" + strconv.Itoa(files.Position(call.Pos()).Line)
			all = append(all, c)
		}
		return true
	})
	return all, nil
}

// anyV is the verbosity of a call that works it out.
const anyV = -1

// messageAt is, by the function of a logger, which argument is the message.
var messageAt = map[string]int{
	"Info": 0, "InfoS": 0, "Error": 1, "ErrorS": 1, "Infof": 0, "Errorf": 0, "Warningf": 0, "InfoSDepth": 1,
	// These make the message of a call that follows.
	"GenerateMsgDetailed": 0, "GenerateMsg": 0, "GenerateErrorDetailed": 0, "GenerateError": 0,
}

func read(call *ast.CallExpr) (c Call, ok bool) {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return c, false
	}
	at, ok := messageAt[fun.Sel.Name]
	if !ok || len(call.Args) <= at {
		return c, false
	}
	switch x := fun.X.(type) {
	case *ast.Ident:
		c.More = x.Name != "logger" && x.Name != "klog"
	case *ast.CallExpr:
		c.More = !plainLogger(x)
	}
	if strings.HasPrefix(fun.Sel.Name, "Generate") {
		c.V, c.More = anyV, true
	}
	if inner, is := fun.X.(*ast.CallExpr); is {
		if v, is := inner.Fun.(*ast.SelectorExpr); is && v.Sel.Name == "V" && len(inner.Args) == 1 {
			c.V = anyV
			if lit, is := inner.Args[0].(*ast.BasicLit); is {
				c.V, _ = strconv.Atoi(lit.Value)
			}
		}
	}
	ast.Inspect(call.Args[at], func(n ast.Node) bool {
		if lit, is := n.(*ast.BasicLit); is && lit.Kind == token.STRING && c.Message == "" {
			c.Message, _ = strconv.Unquote(lit.Value)
		}
		return c.Message == ""
	})
	for _, arg := range call.Args[at+1:] {
		if lit, is := arg.(*ast.BasicLit); is && lit.Kind == token.STRING {
			key, _ := strconv.Unquote(lit.Value)
			c.Keys = append(c.Keys, key)
		}
	}
	return c, c.Message != ""
}

// plainLogger reports whether a call such as logger.V(4) is one of a logger without values.
func plainLogger(x *ast.CallExpr) bool {
	fun, ok := x.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := fun.X.(*ast.Ident)
	return ok && (id.Name == "logger" || id.Name == "klog")
}

// elsewhere are messages that modules beside k8s.io/kubernetes write: client-go's recorder.
var elsewhere = []string{"Event occurred"}

// Problem is a line of the catalogue that the source does not have as the catalogue has it.
type Problem struct {
	Step, Message, What string
}

// Check compares the lines of the catalogue with the calls in the source.
func Check(all []Call) (out []Problem) {
	c := probes.MustLoad()
	for i := range c.Steps {
		s := &c.Steps[i]
		for j := range s.Log {
			l := &s.Log[j]
			if what := check(l, all); what != "" && l.Until == "" && !slices.Contains(elsewhere, l.Message) {
				out = append(out, Problem{s.Name, l.Message, what})
			}
		}
	}
	return out
}

func check(l *probes.LogLine, all []Call) string {
	lost := "no call writes it"
	for i := range all {
		c := &all[i]
		if !same(l, c.Message) {
			continue
		}
		if c.V != l.V && c.V != anyV {
			lost = fmt.Sprintf("%s writes it from -v=%d on, not %d", c.At, c.V, l.V)
			continue
		}
		if missing := missingKey(l, c); missing != "" && !c.More {
			lost = c.At + " writes no " + missing
			continue
		}
		return ""
	}
	return lost
}

// same reports whether a line of the catalogue has a message of the source. One that is put together begins with what the
// source has, up to a verb of fmt.
func same(l *probes.LogLine, message string) bool {
	begin, glob := strings.CutSuffix(l.Message, "*")
	if !glob {
		return message == l.Message
	}
	message, _, _ = strings.Cut(message, "%")
	return message != "" && (strings.HasPrefix(message, begin) || strings.HasPrefix(begin, message) && len(message) > 8)
}

func missingKey(l *probes.LogLine, c *Call) string {
	for _, key := range l.Values {
		if !slices.Contains(c.Keys, key) {
			return key
		}
	}
	for key := range l.In {
		if key != probes.LogMessage && !slices.Contains(c.Keys, key) {
			return key
		}
	}
	for key := range l.When {
		if !slices.Contains(c.Keys, key) {
			return key
		}
	}
	return ""
}
