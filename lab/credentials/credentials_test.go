package credentials

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlace: the program is where the kubelet's flags have it, with a configuration for one registry, and may be placed
// again.
func TestPlace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "credentials")
	for range 2 {
		flags, err := Place(dir, "/bin/true", "component", "--socket=s")
		if err != nil || len(flags) != 2 {
			t.Fatalf("%v, %v", flags, err)
		}
	}
	if program, err := os.Readlink(filepath.Join(dir, Name)); err != nil || program != "/bin/true" {
		t.Errorf("the plugin is %s, %v", program, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"kind: CredentialProviderConfig", "- private.example", "- --socket=s", "name: podstep-lab"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the configuration has no %q:\n%s", part, text)
		}
	}
}

// TestNobodyAnswers: a plugin that nobody answers fails, and prints why.
func TestNobodyAnswers(t *testing.T) {
	var out, errs bytes.Buffer
	if exit := Run(filepath.Join(t.TempDir(), "none"), strings.NewReader("{}"), &out, &errs); exit == 0 || out.Len() > 0 || !strings.Contains(errs.String(), "ask for credentials") {
		t.Errorf("%d, %q, %q", exit, out.String(), errs.String())
	}
}
