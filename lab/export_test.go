package lab

// Names returns the names of the control group and of the bridge that a lab in dir would have.
func Names(dir string) (cgroup, bridge string) {
	n := namesOf(dir)
	return n.cgroup, n.bridge
}
