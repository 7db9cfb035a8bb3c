package evidence

// ContainerLog is the last lines that a container wrote, without what may be a secret.
type ContainerLog struct {
	Container string   `json:"container"`
	Previous  bool     `json:"previous,omitempty"` // of the container before it was started again
	Lines     []string `json:"lines,omitempty"`
	// Cut: older ones of these lines were left out, because they are too long.
	Cut bool `json:"cut,omitempty"`
	// Why it could not be read, as of Unseen; both empty if it could.
	Why     string `json:"why,omitempty"`
	Message string `json:"message,omitempty"`
}
