package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// State is what DIR/state.json says of a lab, for scripts and tests.
type State struct {
	Dir        string         `json:"dir"`
	Runtime    string         `json:"runtime"` // RuntimeSim or RuntimeContainerd
	Node       string         `json:"node"`
	Kubeconfig string         `json:"kubeconfig"`
	Agent      string         `json:"agent"`
	CRI        string         `json:"cri"`                  // socket of the container runtime
	Containerd string         `json:"containerd,omitempty"` // its socket; what follows is of a containerd lab only
	Cgroup     string         `json:"cgroup,omitempty"`
	Bridge     string         `json:"bridge,omitempty"`
	Subnet     string         `json:"subnet,omitempty"`
	Ports      map[string]int `json:"ports"`
	Pids       map[string]int `json:"pids"` // the running parts, and "podstep-lab" itself
}

// ReadState reads what the lab in dir says of itself. After a kill -9 it still says what was.
func ReadState(dir string) (State, error) {
	var s State
	text, err := os.ReadFile(paths{dir}.state())
	if errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("no lab is running in %s", dir)
	}
	if err != nil {
		return s, fmt.Errorf("read state: %w", err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("read state %s: %w", paths{dir}.state(), err)
	}
	return s, nil
}

// write replaces the file in one go: readers never see a half.
func (s State) write() error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	file := paths{s.Dir}.state()
	if err := os.WriteFile(file+".new", append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}
