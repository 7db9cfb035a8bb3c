// Package kubelet asks the go command for the kubelet's source.
package kubelet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Module is the directory of the module whose kubelet is read, from the root of the
// repository. It requires k8s.io/kubernetes.
const Module = "lab"

// List runs go list in the directory of a module, for the kubelet's own system. The arguments
// must make it print JSON. Each T is decoded from that.
func List[T any](module string, args ...string) ([]T, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w: %s", module, err, stderr.String())
	}
	var all []T
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var one T
		err := d.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read go list: %w", err)
		}
		all = append(all, one)
	}
}
