//go:build critest

package critest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// endpointFlag is the flag by which podstep finds a kubelet's runtime.
const endpointFlag = "--container-runtime-endpoint="

// TestMain runs the tests. Under a kubelet's name this program plays a kubelet: it makes calls all the time, by which
// podstep sees that calls pass.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "kubelet" {
		playKubelet(strings.TrimPrefix(os.Args[1], endpointFlag))
	}
	os.Exit(m.Run())
}

func playKubelet(endpoint string) {
	c, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for runtime := runtimeapi.NewRuntimeServiceClient(c); ; time.Sleep(100 * time.Millisecond) {
		// A call may fail while podstep takes the path over.
		_, _ = runtime.Version(context.Background(), &runtimeapi.VersionRequest{})
	}
}

// throughPodstep runs critest through a podstep that is attached to a played kubelet. podstep has to see the calls.
func throughPodstep(t *testing.T, critest string) []spec {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("podstep attach takes root")
	}
	socket := serve(t)
	kubelet := filepath.Join(t.TempDir(), "kubelet")
	self, err := os.Executable()
	if err == nil {
		err = os.Link(self, kubelet)
	}
	if err != nil {
		t.Fatal(err)
	}
	played := exec.Command(kubelet, endpointFlag+"unix://"+socket)
	start(t, played)
	recording := filepath.Join(t.TempDir(), "recording")
	podstep := labtest.Bin(t, "podstep")
	attached := exec.Command(podstep, "attach", "--no-tui", "--probe", "cri", "--pid", fmt.Sprint(played.Process.Pid), "--socket", filepath.Join(t.TempDir(), "agent.sock"), "--record-dir", recording)
	out, err := attached.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, attached)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("podstep attach ends, and prints %q: %v", line, err)
	}
	all := validate(t, critest, socket)
	if err := attached.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := attached.Wait(); err != nil {
		t.Errorf("podstep attach: %v", err)
	}
	story, err := exec.Command(podstep, "replay", recording, "-o", "json").CombinedOutput()
	if err != nil {
		t.Errorf("podstep replay: %v: %.300s", err, story)
	}
	seen := strings.Count(string(story), `"cri.RunPodSandbox"`)
	if t.Logf("podstep has %d events of sandboxes that begin", seen); seen == 0 {
		t.Error("podstep has not seen critest's calls")
	}
	return all
}

// start starts a program that ends with the test at the latest.
func start(t *testing.T, c *exec.Cmd) {
	t.Helper()
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
}

// compare fails the test for each test of critest with another result.
func compare(t *testing.T, direct, relayed []spec) {
	t.Helper()
	was := map[string]string{}
	for _, s := range direct {
		was[s.name()] = s.State
	}
	if len(direct) != len(relayed) {
		t.Errorf("critest has %d results directly, and %d through podstep", len(direct), len(relayed))
	}
	same := 0
	for _, s := range relayed {
		if s.State == was[s.name()] {
			same++
			continue
		}
		t.Errorf("%s directly, and %s through podstep: %s\n%s", was[s.name()], s.State, s.name(), s.Failure.Message)
	}
	t.Logf("critest has the same %d results through podstep", same)
}
