package stuck

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/agent/logstory"
)

// askLogs appends to the file that PODSTEP_LOGGED names which cause the node's logs alone name: a line of the case, its
// cause, and what is named first. The logs are those of the lab, with the verbosity that it has. If PODSTEP_LOGGED is
// empty, nobody asks.
func (c *Case) askLogs(t *testing.T, e *Env) {
	t.Helper()
	to := os.Getenv("PODSTEP_LOGGED")
	if to == "" {
		return
	}
	named := "the pod is not in the log"
	for deadline := time.Now().Add(5 * time.Second); named != c.Cause && time.Now().Before(deadline); time.Sleep(askEvery) {
		named = c.namedByLogs(t, e)
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%s\t%s\t%s\n", c.id(), c.Cause, named); err != nil {
		t.Fatal(err)
	}
}

// namedByLogs returns the cause that the logs name first.
func (c *Case) namedByLogs(t *testing.T, e *Env) string {
	t.Helper()
	var logs []string
	for _, name := range []string{"kubelet.log", "containerd.log"} {
		if name = filepath.Join(e.Dir, "logs", name); readable(name) {
			logs = append(logs, name)
		}
	}
	s, err := logstory.Open(logs, logstory.Options{})
	if err != nil {
		return err.Error()
	}
	defer s.Close()
	read, err := gather.ReadRecording("the log", s, time.Time{})
	if err != nil {
		return err.Error()
	}
	found := read.Named(e.watched.Namespace, e.watched.Name)
	if len(found) == 0 {
		return "the pod is not in the log"
	}
	r := causes.Explain(read.Pod(found[0]))
	if id := firstOf(r); id != "" {
		return id
	}
	return r.Word()
}

func readable(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Size() > 0
}
