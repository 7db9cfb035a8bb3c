// Command program stands for podstep in tests.
package main

func main() {}
