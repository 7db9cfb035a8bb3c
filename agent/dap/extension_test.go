package dap

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// manifest is the part of the VS Code extension's manifest that names what podstep reads.
type manifest struct {
	Contributes struct {
		Debuggers []struct {
			Type                    string
			ConfigurationAttributes map[string]struct {
				Required   []string
				Properties map[string]json.RawMessage
			}
			ConfigurationSnippets []struct {
				Label string
				Body  map[string]json.RawMessage
			}
			InitialConfigurations []map[string]json.RawMessage
		}
	}
}

// members returns the names that a configuration of podstep has.
func members(of any) (names []string) {
	t := reflect.TypeOf(of)
	for i := range t.NumField() {
		names = append(names, t.Field(i).Tag.Get("json"))
	}
	slices.Sort(names)
	return names
}

// TestExtension: the VS Code extension offers exactly what podstep reads, and its examples are configurations that
// podstep takes.
func TestExtension(t *testing.T) {
	text, err := os.ReadFile("../../editors/vscode/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	d := m.Contributes.Debuggers[0]
	if d.Type != "podstep" || len(d.ConfigurationSnippets) == 0 || len(d.InitialConfigurations) == 0 {
		t.Errorf("the debugger is %+v", d)
	}
	// The extension itself reads the node.
	for request, want := range map[string][]string{"attach": append(members(attachArguments{}), "node"), "launch": members(launchArguments{})} {
		slices.Sort(want)
		got := slices.Sorted(maps.Keys(d.ConfigurationAttributes[request].Properties))
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q, and podstep reads %q", request, got, want)
		}
	}
	examples := d.InitialConfigurations
	for _, s := range d.ConfigurationSnippets {
		examples = append(examples, s.Body)
	}
	for _, c := range examples {
		request := strings.Trim(string(c["request"]), `"`)
		attributes := d.ConfigurationAttributes[request]
		for name := range c {
			if _, ok := attributes.Properties[name]; !ok && !slices.Contains([]string{"type", "request", "name"}, name) {
				t.Errorf("an example of %s has %q, which podstep does not read", request, name)
			}
		}
		for _, name := range attributes.Required {
			if c[name] == nil {
				t.Errorf("an example of %s lacks %q", request, name)
			}
		}
		whole, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if request == "attach" {
			err = readArguments(whole, &attachArguments{})
		} else {
			err = readArguments(whole, &launchArguments{})
		}
		if err != nil {
			t.Errorf("an example of %s: %v", request, err)
		}
	}
}
