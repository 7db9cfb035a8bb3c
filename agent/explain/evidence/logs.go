package evidence

// ContainerLog is the last lines that a container wrote, without what may be a secret.
type ContainerLog struct {
	Container string   `json:"container"`
	Previous  bool     `json:"previous,omitempty"` // of the container before it was started again
	Lines     []string `json:"lines,omitempty"`
	// Cut reports that older lines were left out, because these are too long.
	Cut bool `json:"cut,omitempty"`
	// Why and Message say why the log could not be read, as in Unseen. Both are empty if it could be.
	Why     string `json:"why,omitempty"`
	Message string `json:"message,omitempty"`
}
