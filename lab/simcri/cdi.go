package simcri

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// cdiSpec is the part of a spec of the Container Device Interface that means something without processes.
type cdiSpec struct {
	Kind    string `json:"kind"`
	Devices []struct {
		Name           string `json:"name"`
		ContainerEdits struct {
			Env []string `json:"env"`
		} `json:"containerEdits"`
	} `json:"devices"`
}

// deviceEnv returns the environment that its CDI devices give a container, as KEY=VALUE. Like containerd, the server
// refuses a container with a device that no spec has.
func (s *Server) deviceEnv(config *runtimeapi.ContainerConfig) ([]string, error) {
	if len(config.GetCDIDevices()) == 0 {
		return nil, nil
	}
	known, err := readSpecs(s.opts.CDI)
	if err != nil {
		return nil, status.Errorf(codes.Unknown, "failed to generate container spec: CDI device injection failed: %v", err)
	}
	var env, missing []string
	for _, d := range config.GetCDIDevices() {
		edits, ok := known[d.GetName()]
		if !ok {
			missing = append(missing, d.GetName())
		}
		env = append(env, edits...)
	}
	if len(missing) > 0 {
		return nil, status.Errorf(codes.Unknown, "failed to generate container spec: CDI device injection failed: unresolvable CDI devices %s", strings.Join(missing, ", "))
	}
	return env, nil
}

// readSpecs returns the environments of all CDI devices, by the devices' names.
func readSpecs(dir string) (map[string][]string, error) {
	known := map[string][]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || dir == "" {
		return known, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var spec cdiSpec
		if err := json.Unmarshal(text, &spec); err != nil {
			return nil, err
		}
		for _, d := range spec.Devices {
			known[spec.Kind+"="+d.Name] = d.ContainerEdits.Env
		}
	}
	return known, nil
}
