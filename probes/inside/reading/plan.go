package reading

// Plan states what to read at the places of a kubelet's code. It can be sent to another process, which stops the kubelet
// there.
type Plan struct {
	Layout Layout
	Places []Place
	Reads  []Read
	// Wraps state how errors' texts are found, by the address of the Error method.
	Wraps map[uint64]Wrap
	// Numbers is the address of the highest number of a goroutine that was taken; 0: it is not known.
	Numbers uint64
}

// Place is a place of a Plan.
type Place struct {
	// Address is where a breakpoint can stand in the process; 0: nowhere. Linked is the address of the place itself,
	// as the program was linked. The two are the same instruction, or next to each other.
	Address, Linked uint64
	Exit            bool
	Spec            Spec
}
