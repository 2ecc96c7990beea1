-- What Railhead's gang and placement rules do, as a site would write it in Lua: the yardstick of the submit bench.
-- Nodes have 8 GPUs; leaves have LEAF_SIZE nodes.
local GPUS_PER_NODE = 8
local LEAF_SIZE = 16
local WAIT_S = 300

local function gpus_in(text)
   return text and tonumber(string.match(text, "gpu:(%d+)$") or string.match(text, "gpu:[^:]+:(%d+)$"))
end

local function whole_nodes(job_desc)
   local gpus = gpus_in(job_desc.tres_per_job)
   if not gpus and job_desc.tres_per_task and job_desc.num_tasks ~= slurm.NO_VAL then
      gpus = gpus_in(job_desc.tres_per_task) * job_desc.num_tasks
   end
   if gpus and gpus > GPUS_PER_NODE and gpus % GPUS_PER_NODE == 0 then
      return gpus / GPUS_PER_NODE
   end
   return nil
end

function slurm_job_submit(job_desc, part_list, submit_uid)
   if job_desc.min_nodes == slurm.NO_VAL then
      local nodes = whole_nodes(job_desc)
      if nodes then
         job_desc.min_nodes = nodes
         job_desc.max_nodes = nodes
         job_desc.shared = 0
      end
   end
   local nodes = job_desc.min_nodes
   if nodes ~= slurm.NO_VAL and nodes > 1 and job_desc.req_switch == slurm.NO_VAL then
      job_desc.req_switch = math.ceil(nodes / LEAF_SIZE)
      job_desc.wait4switch = WAIT_S
   end
   return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
   return slurm.SUCCESS
end

return slurm.SUCCESS
