package verbosity

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/podstep/podstep/probes/kubelets"
)

// DefaultDir is the directory of what podstep attach keeps.
const DefaultDir = "/run/podstep/attach"

// Record says that the -v of a kubelet is raised.
type Record struct {
	// PID and Started are the kubelet's process.
	PID     int    `json:"pid"`
	Started uint64 `json:"started"`
	// Guard and GuardStarted are the guard's process.
	Guard        int       `json:"guard"`
	GuardStarted uint64    `json:"guardStarted"`
	Old          int       `json:"old"`
	To           int       `json:"to"`
	Until        time.Time `json:"until"`
	// Kubeconfig is the file with the credentials for the kubelet; empty: the usual files are tried.
	Kubeconfig string `json:"kubeconfig,omitempty"`
}

// fileOf returns the file with the record of a kubelet.
func fileOf(dir string, pid int) string { return filepath.Join(dir, below, strconv.Itoa(pid)+suffix) }

// below is the directory of the records in that of podstep attach.
const below, suffix = "verbosity", ".json"

// write writes the record in place of an older one.
func (r *Record) write(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, below), 0o700); err != nil {
		return fmt.Errorf("keep the kubelet's -v: %w", err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keep the kubelet's -v: %w", err)
	}
	name := fileOf(dir, r.PID)
	if err := os.WriteFile(name+"~", text, 0o600); err != nil {
		return fmt.Errorf("keep the kubelet's -v: %w", err)
	}
	if err := os.Rename(name+"~", name); err != nil {
		return fmt.Errorf("keep the kubelet's -v: %w", err)
	}
	return nil
}

// read reads the record of a kubelet; nil: there is none. A record of an earlier process with its PID is removed: with
// that process its -v is gone.
func read(dir string, pid int) (*Record, error) {
	text, err := os.ReadFile(fileOf(dir, pid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	r := &Record{}
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of the kubelet's -v: %w", err)
	}
	if !kubelets.Same(r.PID, r.Started) {
		return nil, os.Remove(fileOf(dir, pid))
	}
	return r, nil
}

// guarded reports whether the guard that would put the old value back is there.
func (r *Record) guarded() bool { return r.Guard != 0 && kubelets.Same(r.Guard, r.GuardStarted) }

// Records returns the records in a directory whose kubelets still run.
func Records(dir string) (out []Record, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, below))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the records of raised -v: %w", err)
	}
	var errs []error
	for _, e := range entries {
		number, ok := strings.CutSuffix(e.Name(), suffix)
		pid, err := strconv.Atoi(number)
		if !ok || err != nil {
			continue
		}
		r, err := read(dir, pid)
		if errs = append(errs, err); r != nil {
			out = append(out, *r)
		}
	}
	return out, errors.Join(errs...)
}
