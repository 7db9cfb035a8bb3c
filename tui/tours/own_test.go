package tours

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestOwn: in a run with other names, nothing of a walk has a name of the walk's file: no manifest, no command, no
// pod of a stop, no text. In a run with the walk's names only the label differs.
func TestOwn(t *testing.T) {
	for _, tour := range loaded(t) {
		t.Run(tour.Name, func(t *testing.T) {
			own, err := tour.Own("run-1", "-2", "node-7")
			if err != nil {
				t.Fatal(err)
			}
			before := everything(&tour)
			var was []string
			for i := range tour.Stops {
				if a := tour.Stops[i].Act; a != nil && (a.Do == Create || a.Do == WriteStatic) {
					was = append(was, names(a.Manifest)...)
				}
			}
			for i, text := range everything(own) {
				for _, name := range was {
					// A name as a whole, where a name can be, that is not followed by the suffix.
					old := regexp.MustCompile(`(name: |name=|pod |pod/default/|default/|ConfigMap |manifests/)` + regexp.QuoteMeta(name) + `(\s|,|}|\.yaml|$)`)
					if found := old.FindString(text); found != "" {
						t.Errorf("%q is still there: %s\nbefore: %s", found, text, before[i])
					}
				}
				if strings.Contains(text, Label) && !strings.Contains(text, "run-1") {
					t.Errorf("another label: %s", text)
				}
			}
			same, err := tour.Own(tour.Name, "", "*")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := everything(same), everything(&tour); !slices.Equal(got, want) {
				t.Errorf("with the same names it is\n%q, not\n%q", got, want)
			}
			refersToItself(t, own)
		})
	}
}

// everything returns all parts of a walk that may have names in them.
func everything(t *Tour) (out []string) {
	out = append(out, t.Pod, t.Manifest, t.Text.En, t.Text.Zh, t.Ending.En, t.Ending.Zh)
	for i := range t.Stops {
		s := &t.Stops[i]
		out = append(out, s.Pod, s.Text.En, s.Text.Zh)
		if a := s.Act; a != nil {
			out = append(out, a.Manifest, a.Object, a.Command("DIR", "FILE"))
		}
	}
	return out
}

// refersToItself checks that a walk makes every ConfigMap and ResourceClaim that its pods refer to, except
// kube-root-ca.crt.
func refersToItself(t *testing.T, tour *Tour) {
	t.Helper()
	var made, wanted []string
	for i := range tour.Stops {
		a := tour.Stops[i].Act
		if a == nil || a.Do != Create {
			continue
		}
		for _, doc := range documentsOf(a.Manifest) {
			if kind := field(doc, "kind").Value; kind == "ConfigMap" || kind == "ResourceClaim" {
				made = append(made, field(doc, "metadata", "name").Value)
			}
			walkNodes(doc, func(key string, n *yaml.Node) {
				if named := field(n, "name"); named != nil && strings.HasPrefix(key, "configMap") {
					wanted = append(wanted, named.Value)
				}
				if key == claimReference {
					wanted = append(wanted, n.Value)
				}
			})
		}
	}
	for _, name := range wanted {
		if !slices.Contains(made, name) {
			t.Errorf("a pod refers to %s; the walk makes %v", name, made)
		}
	}
}

// TestCommandsSelect: every command that changes or deletes an object, in a run or on a page, tests for the walk's
// label.
func TestCommandsSelect(t *testing.T) {
	all := loaded(t)
	for i := range all {
		tour := &all[i]
		check := func(a *Action) {
			switch a.Do {
			case Delete:
				if want := fmt.Sprintf(" -l %s=%s ", Label, tour.Name); !strings.Contains(a.Command("D", "F"), want) {
					t.Errorf("%s: %s", tour.Name, a.Command("D", "F"))
				}
			case Patch, Resize:
				if err := a.testsLabel(); err != nil {
					t.Errorf("%s: %v", tour.Name, err)
				}
			case RemoveStatic:
				if want := fmt.Sprintf("'%s: %s'", Label, tour.Name); !strings.Contains(a.Command("D", "F"), want) {
					t.Errorf("%s: %s", tour.Name, a.Command("D", "F"))
				}
			}
		}
		for i := range tour.Stops {
			if a := tour.Stops[i].Act; a != nil {
				check(a)
			}
		}
		for _, a := range tour.Cleanup() {
			check(&a)
		}
	}
}
