//! For embedders: scenarios, the scripted model and tools, the story snapshot.
