// HTTP/2 is used only where `allowH2` is set, which it is nowhere.
module.exports = () => {
  throw new Error('HTTP/2 is not built in');
};
