// Package labstate reads and writes state.json, the file in a lab's directory that names the lab's sockets, its
// kubeconfig and its processes. podstep-lab writes the file; podstep, scripts and tests read it.
package labstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// What runs the containers of a lab.
const (
	// Sim simulates them: no root, no processes.
	Sim = "sim"
	// Containerd runs them with containerd and runc.
	Containerd = "containerd"
)

// Image is an image that each lab has without a pull.
const Image = "docker.io/library/busybox:1.35"

// State describes a lab that runs, or ran until it was killed.
type State struct {
	Dir        string         `json:"dir"`
	Runtime    string         `json:"runtime"` // Sim or Containerd
	Node       string         `json:"node"`
	Kubeconfig string         `json:"kubeconfig"`
	Agent      string         `json:"agent"`                // socket of podstep's agent, of the first node
	CRI        string         `json:"cri"`                  // socket of the container runtime, of the first node
	Nodes      []Node         `json:"nodes"`                // all of them, the first one first
	Devices    int            `json:"devices,omitempty"`    // of the lab's DRA driver, on each node
	Containerd string         `json:"containerd,omitempty"` // containerd's socket; this and the next three fields are of a containerd lab only
	Cgroup     string         `json:"cgroup,omitempty"`
	Bridge     string         `json:"bridge,omitempty"`
	Subnet     string         `json:"subnet,omitempty"`
	Ports      map[string]int `json:"ports"`
	Pids       map[string]int `json:"pids"` // of the running parts, and of "podstep-lab" itself
}

// Node is one node of a lab.
type Node struct {
	Name  string `json:"name"`
	Agent string `json:"agent"` // socket of podstep's agent
}

// File returns the path of the file for the lab in dir.
func File(dir string) string { return filepath.Join(dir, "state.json") }

// Read reads the state of the lab in dir. After a kill -9 of the lab the file is still there.
func Read(dir string) (State, error) {
	var s State
	text, err := os.ReadFile(File(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("no lab is running in %s", dir)
	}
	if err != nil {
		return s, fmt.Errorf("read state: %w", err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("read state %s: %w", File(dir), err)
	}
	return s, nil
}

// Write replaces the file of the lab in s.Dir at once: no reader sees half a file.
func (s State) Write() error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	file := File(s.Dir)
	if err := os.WriteFile(file+".new", append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}
