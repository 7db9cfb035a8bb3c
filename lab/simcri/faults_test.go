package simcri

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestEnds: containers end by themselves in all the ways that settings state.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		name        string
		annotations map[string]string
		command     []string
		code        int32
		reason      string
		after       time.Duration
	}{
		{"true", nil, []string{"true"}, 0, "Completed", 0},
		{"sleep", nil, []string{"sleep", "90"}, 0, "Completed", 90 * time.Second},
		{"shell", nil, []string{"sh", "-c", "sleep 1m && exit 7"}, 7, "Error", time.Minute},
		{"until", nil, []string{"sh", "-c", "(missing)"}, 0, "", -1},
		{"exit", map[string]string{"exit": "3"}, []string{"server"}, 3, "Error", 0},
		{"later", map[string]string{"exit": "3", "exit-after": "10s"}, []string{"sleep", "infinity"}, 3, "Error", 10 * time.Second},
		{"done", map[string]string{"app.exit-after": "10s"}, []string{"server"}, 0, "Completed", 10 * time.Second},
		{"other", map[string]string{"sidecar.exit-after": "10s"}, []string{"server"}, 0, "", -1},
		{"oom", map[string]string{"oom-after": "5s"}, []string{"server"}, 137, "OOMKilled", 5 * time.Second},
		{"default", nil, nil, 0, "Completed", 0}, // busybox runs a shell, which has nothing to read
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(n *inner) {
				id := n.launch(c.name, c.annotations, c.command...)
				time.Sleep(time.Hour) // in the bubble's time
				synctest.Wait()
				if c.after < 0 {
					if s := n.status(id); s.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
						t.Errorf("has ended: %v", s)
					}
					return
				}
				n.wantExit(id, c.code, c.reason, c.after)
			})
		})
	}
}

// TestStops: containers that are asked to end do so as settings state, or are killed after 30 seconds.
func TestStops(t *testing.T) {
	const grace = 30 * time.Second
	for _, c := range []struct {
		name        string
		annotations map[string]string
		command     []string
		code        int32
		after       time.Duration
	}{
		{"program", nil, []string{"server"}, 143, 0},
		{"graceful", map[string]string{"term-exit": "0"}, []string{"server"}, 0, 0},
		{"process 1 has no handler", nil, []string{"sleep", "infinity"}, 137, grace},
		{"process 1 has a trap", nil, []string{"sh", "-c", "trap 'exit 9' TERM; sleep infinity & wait"}, 9, 0},
		{"a trap waits for its command", nil, []string{"sh", "-c", "trap 'exit 9' TERM; while true; do sleep 7; done"}, 9, 7 * time.Second},
		{"asked to exit", map[string]string{"term": "exit"}, []string{"sleep", "infinity"}, 143, 0},
		{"ignore", map[string]string{"term": "ignore"}, []string{"server"}, 137, grace},
		{"slow", map[string]string{"term": "12s", "term-exit": "0"}, []string{"server"}, 0, 12 * time.Second},
		{"too slow", map[string]string{"term": "12m"}, []string{"server"}, 137, grace},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(n *inner) {
				id := n.launch("pod", c.annotations, c.command...)
				synctest.Wait()
				if _, err := n.StopContainer(n.ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: int64(grace / time.Second)}); err != nil {
					t.Fatal(err)
				}
				reason := "Error"
				if c.code == 0 {
					reason = "Completed"
				}
				n.wantExit(id, c.code, reason, c.after)
			})
		})
	}
}

// TestSharedProcessNamespace: with a shared PID namespace a sleep is not process 1, so SIGTERM ends it.
func TestSharedProcessNamespace(t *testing.T) {
	bubble(t, func(n *inner) {
		config := n.pod("shared", nil)
		config.Linux.SecurityContext.NamespaceOptions.Pid = runtimeapi.NamespaceMode_POD
		_, id, err := n.create(config, 0, "sleep", "infinity")
		if err == nil {
			_, err = n.StartContainer(n.ctx, &runtimeapi.StartContainerRequest{ContainerId: id})
		}
		if err == nil {
			_, err = n.StopContainer(n.ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: 30})
		}
		if err != nil {
			t.Fatal(err)
		}
		n.wantExit(id, 143, "Error", 0)
	})
}

// TestFaults: faults strike before a container runs, and are reported.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name        string
		annotations map[string]string
		code        codes.Code
		message     string
	}{
		{"sandbox error", map[string]string{"sandbox-error": "no cgroup"}, codes.Unknown, "no cgroup"},
		{"sandbox hangs", map[string]string{"sandbox-hang": "forever"}, codes.DeadlineExceeded, ""},
		{"network plugin", map[string]string{"cni-error": "no bridge"}, codes.Unknown, `plugin type="bridge" failed (add): no bridge`},
		{"not found", map[string]string{"pull": "not-found"}, codes.NotFound, "busybox:1.35: not found"},
		{"unauthorized", map[string]string{"pull": "unauthorized"}, codes.Unknown, "authorization failed"},
		{"rate limited", map[string]string{"pull": "rate-limited"}, codes.Unknown, "toomanyrequests"},
		{"no network", map[string]string{"pull": "no-network"}, codes.Unknown, "no such host"},
		{"unavailable", map[string]string{"pull": "unavailable"}, codes.Unknown, "desc = RegistryUnavailable: "},
		{"signature", map[string]string{"pull": "signature"}, codes.Unknown, "desc = SignatureValidationFailed: "},
		{"pull hangs", map[string]string{"pull": "hang"}, codes.DeadlineExceeded, ""},
		{"slow pull", map[string]string{"pull-time": "1h"}, codes.DeadlineExceeded, ""},
		{"create", map[string]string{"app.create-error": "no snapshotter"}, codes.Unknown, "no snapshotter"},
		{"unknown name", map[string]string{"exit-afer": "1s"}, codes.InvalidArgument, "annotation sim.podstep.dev/exit-afer: there is no"},
		{"bad value", map[string]string{"exit-after": "soon"}, codes.InvalidArgument, `sim.podstep.dev/exit-after: "soon" is not DURATION`},
		{"bad value of a container", map[string]string{"app.exit": "256"}, codes.InvalidArgument, "exit code from 0 to 255"},
		{"of pods only", map[string]string{"app.pull": "hang"}, codes.InvalidArgument, "said of the whole pod"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(n *inner) {
				_, _, err := n.create(n.pod("pod", c.annotations), 0, "true")
				wantCode(t, err, c.code, c.message)
				again := n.pod("pod", nil) // nothing of it is left
				again.Metadata.Attempt = 1
				if _, _, err := n.create(again, 0, "true"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestStartError(t *testing.T) {
	bubble(t, func(n *inner) {
		_, id, err := n.create(n.pod("pod", map[string]string{"start-error": `exec: "nope": executable file not found in $PATH`}), 0, "nope")
		if err != nil {
			t.Fatal(err)
		}
		_, err = n.StartContainer(n.ctx, &runtimeapi.StartContainerRequest{ContainerId: id})
		wantCode(t, err, codes.Unknown, "runc create failed", "executable file not found")
		s := n.status(id)
		if s.State != runtimeapi.ContainerState_CONTAINER_EXITED || s.ExitCode != 128 || s.Reason != "StartError" || s.Message == "" || s.StartedAt != 0 {
			t.Errorf("%v", s)
		}
	})
}

// TestTimes: a fault with a count strikes so many times, and no more.
func TestTimes(t *testing.T) {
	bubble(t, func(n *inner) {
		config := n.pod("pod", map[string]string{"sandbox-error": "not yet", "sandbox-times": "2", "create-error": "nor now", "create-times": "1"})
		for i := range 3 {
			_, _, err := n.create(config, 0, "true")
			if want := []codes.Code{codes.Unknown, codes.Unknown, codes.Unknown}[i]; status.Code(err) != want {
				t.Errorf("try %d: %v", i, err)
			}
			config.Metadata.Attempt++
		}
		if _, _, err := n.create(config, 0, "true"); err != nil {
			t.Errorf("after the faults: %v", err)
		}

		crashing := n.pod("crash", map[string]string{"exit": "1", "exit-times": "1"})
		_, id, err := n.create(crashing, 1, "sleep", "60")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.StartContainer(n.ctx, &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		n.wantExit(id, 0, "Completed", time.Minute) // its second run
	})
}

func TestStopFaults(t *testing.T) {
	bubble(t, func(n *inner) {
		config := n.pod("pod", map[string]string{"sandbox-stop-error": "no netns", "sandbox-stop-times": "1", "stop-error": "cannot kill", "stop-times": "1"})
		box, id, err := n.create(config, 0, "sleep", "infinity")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.StartContainer(n.ctx, &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
			t.Fatal(err)
		}
		_, err = n.StopContainer(n.ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: 2})
		wantCode(t, err, codes.Unknown, "cannot kill")
		_, err = n.StopPodSandbox(n.ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: box})
		wantCode(t, err, codes.Unknown, "failed (delete): no netns")
		if _, err := n.RemovePodSandbox(n.ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: box}); err != nil {
			t.Error(err)
		}
	})
}

// TestUnkillable: a container that cannot be killed runs on, whichever call wants it to end.
func TestUnkillable(t *testing.T) {
	bubble(t, func(n *inner) {
		box, id, err := n.create(n.pod("pod", map[string]string{"stop-error": "ttrpc: closed"}), 0, "sleep", "infinity")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.StartContainer(n.ctx, &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
			t.Fatal(err)
		}
		_, err = n.StopContainer(n.ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: 2})
		wantCode(t, err, codes.Unknown, "ttrpc: closed")
		_, err = n.StopPodSandbox(n.ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: box})
		wantCode(t, err, codes.Unknown, "failed to stop container", "ttrpc: closed")
		_, err = n.RemoveContainer(n.ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id})
		wantCode(t, err, codes.Unknown, "ttrpc: closed")
		_, err = n.RemovePodSandbox(n.ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: box})
		wantCode(t, err, codes.Unknown, "ttrpc: closed")
		r, err := n.ContainerStatus(n.ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
		if err != nil || r.Status.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
			t.Errorf("it is %v, %v", r.GetStatus().GetState(), err)
		}
	})
}

// TestHiddenImage: a pod whose pull is to fail does not see an image that another pod pulled.
func TestHiddenImage(t *testing.T) {
	bubble(t, func(n *inner) {
		n.launch("first", nil, "true")
		ask := func(annotations map[string]string) *runtimeapi.Image {
			r, err := n.ImageStatus(n.ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: busybox, Annotations: annotations}})
			if err != nil {
				t.Fatal(err)
			}
			return r.Image
		}
		if ask(nil) == nil {
			t.Error("the image is not there")
		}
		if ask(map[string]string{Prefix + "pull": "not-found"}) != nil {
			t.Error("the image is seen by a pod that cannot pull it")
		}
		if ask(map[string]string{Prefix + "pull": "not-found", Prefix + "pull-image": "nginx*"}) == nil {
			t.Error("another image's fault hides it")
		}
	})
}

// TestPullProgress: a pull takes a time that follows from its size, and reports its progress.
func TestPullProgress(t *testing.T) {
	bubble(t, func(n *inner) {
		speed := int64(1 << 20)
		n.scenario.Store(&Scenario{Node: Node{PullSpeed: speed}, Images: []ImageRule{{Name: "*/big:*", Size: 100 << 20}}})
		begin := time.Now()
		var took time.Duration
		n.tasks.Go(func() {
			if _, err := n.PullImage(n.ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "example.com/big:v1"}}); err != nil {
				t.Error(err)
			}
			took = time.Since(begin)
		})
		time.Sleep(52 * time.Second)
		synctest.Wait()
		if p := n.Pulls(); len(p) != 1 || p[0].Bytes != 50<<20 || p[0].Size != 100<<20 {
			t.Errorf("after 52 of 100 seconds: %+v", p)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if took != 100*time.Second || len(n.Pulls()) != 0 {
			t.Errorf("took %v; %v", took, n.Pulls())
		}
	})
}

func TestLogEveryAndMessage(t *testing.T) {
	n := start(t, "")
	dir := n.volume("talk", "containers")
	config := n.pod("talk", map[string]string{Prefix + "log": "tick", Prefix + "message": "out of tokens", Prefix + "exit": "2", Prefix + "exit-after": "10ms"})
	box := n.run(config)
	id := n.createFrom(box, config, &runtimeapi.ContainerConfig{Command: []string{"sleep", "infinity"},
		Annotations: map[string]string{messageAnnotation: "/dev/termination-log"},
		Mounts:      []*runtimeapi.Mount{{ContainerPath: "/dev/termination-log", HostPath: filepath.Join(dir, "message")}}})
	writeFile(t, filepath.Join(dir, "message"), "")
	n.begin(id)
	if s := n.exitOf(id); s.ExitCode != 2 {
		t.Errorf("%v", s)
	}
	if got := n.logOf("talk"); got != "stdout F tick\n" {
		t.Errorf("log %q", got)
	}
	if got := readFile(t, filepath.Join(dir, "message")); got != "out of tokens" {
		t.Errorf("message %q", got)
	}
}
