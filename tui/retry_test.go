package tui

import "testing"

// TestRetry: the key has a woven kubelet try the selected pod again. Beside another kubelet it says why not.
func TestRetry(t *testing.T) {
	d := started(t)
	d.press("U").called().sees("cannot end its back-offs")
	d.w.info.Retries = true
	d.press("U").called("retry u-web").sees("the back-off of 40 s of container app is ended, in turn 7")
	d.press("H", "right", "enter").called("hold web")
	d.press("U").called().sees("the pod is held")
}
