// Only for commands that are programs of their own, which none of ours is.
export default {};
