// Package pictures has the pictures of the screen that the documentation shows.
// `make pictures` makes them anew, by keys pressed on a node of the lab. Only nvim.svg was
// taken by hand, on such a node: it takes Neovim with nvim-dap.
package pictures
