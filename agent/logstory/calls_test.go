package logstory

import (
	"testing"
	"time"
)

// TestReadCRI reads the lines of containerd: as 1.6 and 1.7 write them, and as versions do whose CRI has messages of
// another generator.
func TestReadCRI(t *testing.T) {
	head := `time="2026-11-25T15:06:00.877024865Z" level=info msg="`
	for line, want := range map[string]criLine{
		`RunPodSandbox for &PodSandboxMetadata{Name:web,Uid:u,Namespace:n,Attempt:2,}"`: {method: "RunPodSandbox", name: "web", uid: "u", namespace: "n", attempt: 2},
		`RunPodSandbox for name:\"web\" uid:\"u\" namespace:\"n\""`:                     {method: "RunPodSandbox", name: "web", uid: "u", namespace: "n"},
		`RunPodSandbox for &PodSandboxMetadata{Name:web,Uid:u,Namespace:n,Attempt:0,} returns sandbox id \"abc\""`: {
			method: "RunPodSandbox", name: "web", uid: "u", namespace: "n", ended: true, made: "abc",
		},
		`RunPodSandbox for &PodSandboxMetadata{Name:web,Uid:u,Namespace:n,Attempt:0,} failed, error" error="rpc error: \"x\""`: {
			method: "RunPodSandbox", name: "web", uid: "u", namespace: "n", ended: true, failed: true, err: `rpc error: "x"`,
		},
		`CreateContainer within sandbox \"s\" for container &ContainerMetadata{Name:app,Attempt:3,}"`: {
			method: "CreateContainer", sandbox: "s", container: "app", attempt: 3,
		},
		`CreateContainer within sandbox \"s\" for name:\"app\" attempt:1 returns container id \"c\""`: {
			method: "CreateContainer", sandbox: "s", container: "app", attempt: 1, ended: true, made: "c",
		},
		`StartContainer for \"c\""`:                        {method: "StartContainer", id: "c"},
		`StopContainer for \"c\" with timeout 30 (s)"`:     {method: "StopContainer", id: "c", timeout: 30 * time.Second},
		`StopPodSandbox for \"s\" returns successfully"`:   {method: "StopPodSandbox", id: "s", ended: true},
		`RemovePodSandbox \"s\" returns successfully"`:     {method: "RemovePodSandbox", id: "s", ended: true},
		`PullImage \"i\""`:                                 {method: "PullImage", image: "i"},
		`PullImage \"i\" returns image reference \"sha\""`: {method: "PullImage", image: "i", ended: true, made: "sha"},
		`PullImage \"i\" failed" error="no"`:               {method: "PullImage", image: "i", ended: true, failed: true, err: "no"},
	} {
		if got, ok := readCRI(head + line); !ok || got != want {
			t.Errorf("%s is read as %+v, want %+v", line, got, want)
		}
	}
	for _, line := range []string{`Stop container \"c\" with signal terminated"`, `shim disconnected" id=c`, `RunPodSandbox for nobody"`, `StartContainer for `, ""} {
		if got, ok := readCRI(head + line); ok {
			t.Errorf("%s is read as %+v", line, got)
		}
	}
}

// FuzzReadCRI checks that no line makes the reader fail.
func FuzzReadCRI(f *testing.F) {
	f.Add(`time="2026-11-25T15:06:00Z" level=info msg="StopContainer for \"c\" with timeout 30 (s)"`)
	f.Fuzz(func(t *testing.T, line string) {
		c, ok := readCRI(line)
		if at, dated := runtimeTime(line); dated && at.IsZero() && at.Year() != 1 {
			t.Error("the time is not one")
		}
		if ok && c.method == "" {
			t.Errorf("%q is about no method", line)
		}
	})
}
