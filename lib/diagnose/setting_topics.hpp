// What do the settings of a configuration say of the topics that training logs tell too?
#pragma once

#include "diagnose/run_configuration.hpp"

namespace railhead::diagnose {

/// Fills `facts` of `configuration` from its settings, in the units of training::Topic.
void set_topics(RunConfiguration& configuration);

}  // namespace railhead::diagnose
