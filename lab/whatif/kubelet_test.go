package whatif

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sources returns the source of the kubelet's package of the version that is linked.
func sources(t *testing.T) []*ast.File {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatal(err)
	}
	return files(t, filepath.Join(strings.TrimSpace(string(out)), "pkg/kubelet/kuberuntime", "*.go"))
}

func files(t *testing.T, pattern string) (out []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// declared returns the types of some files, as text: a line for each member.
func declared(of []*ast.File) map[string]string {
	out := map[string]string{}
	for _, f := range of {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, is := n.(*ast.TypeSpec)
			if !is {
				return true
			}
			out[spec.Name.Name] = types.ExprString(spec.Type)
			if s, is := spec.Type.(*ast.StructType); is {
				var members []string
				for _, m := range s.Fields.List {
					for _, name := range m.Names {
						members = append(members, name.Name+" "+types.ExprString(m.Type))
					}
				}
				out[spec.Name.Name] = strings.Join(members, "\n")
			}
			return true
		})
	}
	return out
}

// The compiler takes the result of computePodActions for what this package declares: a member too many would be garbage.
func TestTypesAreTheKubelets(t *testing.T) {
	theirs, ours := declared(sources(t)), declared(files(t, "actions.go"))
	if len(ours) < 6 {
		t.Fatalf("actions.go declares only %v", slices.Sorted(maps.Keys(ours)))
	}
	for name, want := range ours {
		if theirs[name] != want {
			t.Errorf("%s is in the kubelet\n%s\nand here\n%s", name, theirs[name], want)
		}
	}
}

func TestSignatureIsTheKubelets(t *testing.T) {
	signature := func(of []*ast.File, cut string) string {
		for _, f := range of {
			for _, d := range f.Decls {
				if fn, is := d.(*ast.FuncDecl); is && fn.Name.Name == "computePodActions" {
					return strings.Replace(types.ExprString(fn.Type), cut, "", 1)
				}
			}
		}
		return ""
	}
	theirs, ours := signature(sources(t), ""), signature(files(t, "actions.go"), "m unsafe.Pointer, ")
	if theirs == "" || theirs != ours {
		t.Errorf("computePodActions is in the kubelet\n%s\nand here\n%s", theirs, ours)
	}
}

// reached returns the functions of the package that a function calls, directly or through others.
func reached(of []*ast.File, from string) map[string]*ast.FuncDecl {
	all := map[string]*ast.FuncDecl{}
	for _, f := range of {
		for _, d := range f.Decls {
			if fn, is := d.(*ast.FuncDecl); is {
				all[fn.Name.Name] = fn
			}
		}
	}
	out := map[string]*ast.FuncDecl{}
	var visit func(string)
	visit = func(name string) {
		fn := all[name]
		if fn == nil || out[name] != nil {
			return
		}
		out[name] = fn
		ast.Inspect(fn, func(n ast.Node) bool {
			if call, is := n.(*ast.CallExpr); is {
				switch f := call.Fun.(type) {
				case *ast.Ident:
					visit(f.Name)
				case *ast.SelectorExpr:
					if x, is := f.X.(*ast.Ident); is && x.Name == "m" {
						visit(f.Sel.Name)
					}
				}
			}
			return true
		})
	}
	visit(from)
	return out
}

// selected returns the members of x that some functions use: x.Name.
func selected(in map[string]*ast.FuncDecl, x string) map[string]bool {
	out := map[string]bool{}
	for _, fn := range in {
		ast.Inspect(fn, func(n ast.Node) bool {
			if s, is := n.(*ast.SelectorExpr); is && types.ExprString(s.X) == x {
				out[s.Sel.Name] = true
			}
			return true
		})
	}
	return out
}

// What a plan depends on is all recorded: a new version of the kubelet that reads more fails here.
func TestInputsAreWhatIsRead(t *testing.T) {
	fns := reached(sources(t), "computePodActions")
	for _, name := range []string{"computeInitContainerActions", "computePodResizeAction", "getContainersToReset", "containerChanged"} {
		if fns[name] == nil {
			t.Errorf("computePodActions no longer calls %s: look at what it reads now", name)
		}
	}
	known := map[string]bool{}
	for _, g := range gates {
		known[string(g)] = true
	}
	for g := range selected(fns, "features") {
		if !known[g] {
			t.Errorf("the feature gate %s is read, and not recorded", g)
		}
	}
	for of, want := range map[string][]string{
		"m":               {"actuatedState", "computeInitContainerActions", "computePodLevelResourcesResizeAction", "computePodResizeAction", "getContainersToReset", "internalLifecycle", "livenessManager", "startupManager"},
		"pod":             {"DeletionTimestamp", "Name", "Spec", "UID"},
		"pod.Spec":        {"Containers", "EphemeralContainers", "InitContainers", "Resources", "RestartPolicy"},
		"podStatus":       {"ContainerStatuses", "FindContainerStatusByName"},
		"status":          {"ExitCode", "ID", "Reason", "State"},
		"containerStatus": {"ExitCode", "Hash", "ID", "Name", "State"},
		"container":       {"LivenessProbe", "Name", "ResizePolicy", "Resources", "RestartPolicy", "StartupProbe"},
		"c":               {"Name", "RestartPolicy"},
	} {
		for got := range selected(fns, of) {
			if !slices.Contains(want, got) {
				t.Errorf("%s.%s is read, and perhaps not recorded", of, got)
			}
		}
	}
}
