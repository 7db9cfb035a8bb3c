package agentpb

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestUpToDate generates the protocol's code anew and compares. Only the line
// that names protoc's version may differ.
func TestUpToDate(t *testing.T) {
	if _, err := exec.LookPath("protoc"); err != nil {
		t.Skip("protoc is not installed; CI has it")
	}
	dir := t.TempDir()
	if out, err := exec.Command("../../scripts/generate-proto.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("generate: %v\n%s", err, out)
	}
	for _, name := range []string{"agent.pb.go", "agent_grpc.pb.go"} {
		was, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		is, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(withoutVersion(was), withoutVersion(is)) {
			t.Errorf("%s is out of date: run make generate", name)
		}
	}
}

func withoutVersion(b []byte) []byte {
	var out [][]byte
	for _, line := range bytes.Split(b, []byte("\n")) {
		if !bytes.Contains(line, []byte(" protoc ")) {
			out = append(out, line)
		}
	}
	return bytes.Join(out, []byte("\n"))
}
