package dradriver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// cdiKind is the kind of the driver's CDI devices.
const cdiKind = "podstep.dev/device"

// cdiID returns the name by which the kubelet asks the runtime for a device. It has the claim's UID, because a runtime
// may remember what a name stood for.
func cdiID(claim types.UID, device string) string { return cdiKind + "=" + cdiName(claim, device) }

func cdiName(claim types.UID, device string) string { return string(claim) + "-" + device }

// specs is a directory of CDI specs, one for each claim that is prepared. It is all that the driver has to remember,
// so that it may be killed and started again.
type specs string

// spec is a file of the Container Device Interface.
type spec struct {
	Version string    `json:"cdiVersion"`
	Kind    string    `json:"kind"`
	Devices []cdiItem `json:"devices"`
}

type cdiItem struct {
	Name  string   `json:"name"`
	Edits cdiEdits `json:"containerEdits"`
}

type cdiEdits struct {
	Env []string `json:"env"`
}

// variable is the one that a container with a device has.
const variable = "PODSTEP_DEVICE="

func (s specs) file(claim types.UID) string { return filepath.Join(string(s), string(claim)+".json") }

// write writes the spec of a claim. It refuses a device that another claim has: a driver is the last that can prevent
// that.
func (s specs) write(claim types.UID, devices []string) error {
	for _, device := range devices {
		holder, err := s.holder(device)
		if err != nil {
			return err
		}
		if holder != "" && holder != claim {
			return fmt.Errorf("device %s is prepared for the claim with UID %s", device, holder)
		}
	}
	out := spec{Version: "0.6.0", Kind: cdiKind}
	for _, device := range devices {
		out.Devices = append(out.Devices, cdiItem{cdiName(claim, device), cdiEdits{[]string{variable + device}}})
	}
	text, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("write CDI spec: %w", err)
	}
	// A runtime reads all files of these endings, and must not read half a file.
	file := s.file(claim)
	if err := os.WriteFile(file+".new", text, 0o644); err != nil {
		return fmt.Errorf("write CDI spec: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("write CDI spec: %w", err)
	}
	return nil
}

// holder returns the claim for which a device is prepared, or "".
func (s specs) holder(device string) (types.UID, error) {
	files, err := filepath.Glob(s.file("*"))
	if err != nil {
		return "", fmt.Errorf("list CDI specs: %w", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read CDI spec: %w", err)
		}
		var one spec
		if err := json.Unmarshal(text, &one); err != nil {
			return "", fmt.Errorf("read CDI spec %s: %w", file, err)
		}
		for _, item := range one.Devices {
			if slices.Contains(item.Edits.Env, variable+device) {
				return types.UID(strings.TrimSuffix(filepath.Base(file), ".json")), nil
			}
		}
	}
	return "", nil
}

func (s specs) remove(claim types.UID) error {
	if err := os.Remove(s.file(claim)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove CDI spec: %w", err)
	}
	return nil
}
