package faults

import (
	"context"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/lab/filefaults"
)

// TestFilesHaveOwners: an operation belongs to the pod whose id is in its path, and has the same name for each pod.
func TestFilesHaveOwners(t *testing.T) {
	f := &Files{table: NewTable(), root: "/lab"}
	const uid, cid = "739db3df-532f-4ea5-8339-ea86c2f50deb", "0badc0de0badc0de0badc0de0badc0de0badc0de0badc0de0badc0de0badc0de"
	f.table.Learn("explore-1", uid)
	f.table.Learn("explore-1", "explore-1")
	for path, want := range map[string]string{
		"/lab/kubelet/pods/" + uid: "file mkdir kubelet/pods/ID",
		"/lab/kubelet/pods/" + uid + "/volumes/kubernetes.io~configmap/settings/..2026_11_28_14_05_37.1234567": "file mkdir kubelet/pods/ID/volumes/kubernetes.io~configmap/settings/..DATA",
		"/lab/kubelet/pods/" + uid + "/volumes/kubernetes.io~projected/kube-api-access-x7k2p/..data_tmp":       "file mkdir kubelet/pods/ID/volumes/kubernetes.io~projected/kube-api-access/..data_tmp",
		"/lab/kubelet/pods/" + uid + "/containers/app/1a2b3c4d":                                                "file mkdir kubelet/pods/ID/containers/app/LOG",
		"/lab/logs/explore-1_web_" + uid + "/app":                                                              "file mkdir logs/ID_web_ID/app",
		"/lab/containers/web_explore-1_app-" + cid + ".log":                                                    "file mkdir containers/web_ID_app-ID.log",
	} {
		namespace, c := f.about(filefaults.Operation{Kind: filefaults.Mkdir, Path: path})
		if namespace != "explore-1" || c.String() != want {
			t.Errorf("%s: %q of %q, not %q", path, c, namespace, want)
		}
	}
	for _, path := range []string{"/lab/kubelet/pods", "/lab/kubelet/pods/another", "/elsewhere/" + uid, "/lab"} {
		if namespace, c := f.about(filefaults.Operation{Kind: filefaults.Mkdir, Path: path}); namespace != "" {
			t.Errorf("%s: %q of %q", path, c, namespace)
		}
	}
}

// TestBrokenFiles: an operation fails with its errno as often as the rule wants, and one that hangs goes on when the rule
// is lifted.
func TestBrokenFiles(t *testing.T) {
	f := &Files{table: NewTable(), root: "/lab"}
	f.table.Learn("a", "a")
	op := filefaults.Operation{Kind: filefaults.Mkdir, Path: "/lab/pods/a"}
	of := Call{Side: File, Method: "mkdir", Object: "pods/ID"}
	for action, want := range errnos {
		f.table.Watch("a", &Rule{Call: of, From: 1, Action: action})
		if got := f.decide(t.Context(), op); got != want {
			t.Errorf("%s: %v, not %v", action, got, want)
		}
		if got := f.decide(t.Context(), op); got != 0 {
			t.Errorf("%s: the second time, too: %v", action, got)
		}
	}
	for _, a := range Actions(File) {
		if a != Hang && errnos[a] == 0 {
			t.Errorf("%s has no errno", a)
		}
	}
	f.table.Watch("a", &Rule{Call: of, From: 1, Always: true, Action: Hang})
	f.table.Learn("a", "a")
	done := make(chan unix.Errno)
	go func() { done <- f.decide(context.Background(), op) }()
	for calls := 0; calls == 0; calls, _ = f.table.Broken("a") {
	}
	f.table.Forget("a")
	if got := <-done; got != 0 {
		t.Errorf("it ends with %v", got)
	}
}
