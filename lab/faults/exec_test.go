package faults

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podstep/podstep/lab/credentials"
)

// TestBrokenCredentials: the plugin asks for the image of a pod, and ends and prints as the rule for that pod wants it.
func TestBrokenCredentials(t *testing.T) {
	table, socket := NewTable(), filepath.Join(t.TempDir(), "c.sock")
	c, err := ListenCredentials(table, socket)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = c.Serve() }()
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	ask := func(image string) (exit int, out, errs string) {
		var o, e bytes.Buffer
		exit = credentials.Run(socket, strings.NewReader(`{"kind":"CredentialProviderRequest","image":"`+image+`"}`), &o, &e)
		return exit, o.String(), e.String()
	}
	image := strings.TrimSuffix(PrivateImage(ImageOf("a", "app")), ":1")
	for _, of := range []struct {
		action    Action
		exit      int
		out, errs string
	}{{Exit, 1, "", "on purpose"}, {Empty, 0, "", ""}, {Nonsense, 0, "on purpose", ""}, {Wrong, 0, `"password":"not-let-me-in"`, ""}} {
		table.Watch("a", &Rule{Call: Call{Exec, GetCredentials, "app"}, From: 1, Action: of.action, Text: "on purpose"})
		exit, out, errs := ask(image)
		if exit != of.exit || !strings.Contains(out, of.out) || of.out == "" && out != "" || errs != of.errs {
			t.Errorf("%s: %d, %q, %q", of.action, exit, out, errs)
		}
		if exit, out, _ := ask(image); exit != 0 || !strings.Contains(out, `"password":"let-me-in"`) {
			t.Errorf("after %s: %d, %q", of.action, exit, out)
		}
	}
	table.Watch("a", &Rule{Call: Call{Exec, GetCredentials, "app"}, From: 1, Action: Hang, Text: "on purpose"})
	ended := make(chan int)
	go func() { exit, _, _ := ask(image); ended <- exit }()
	for n := 0; n == 0; n, _ = table.Broken("a") {
	}
	table.Forget("a")
	if exit := <-ended; exit != 1 {
		t.Errorf("a plugin that hung ends with %d", exit)
	}
}
